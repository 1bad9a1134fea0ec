#!/usr/bin/env bash
# A script's replicates on a SLURM cluster, from a checkout that all nodes see:
#
#   bash reproduce/slurm.sh TASKS ROUNDS reproduce/<script>.py [--budget paper] [...]
#
# submits ROUNDS arrays of TASKS tasks of one core, each array after the one before, and prints
# their numbers.  A round that finds all stored ends in seconds.  ARRAY=17 in the environment
# submits task 17 alone.  What the tasks ask for stands here; SBATCH_PARTITION, SBATCH_ACCOUNT,
# SBATCH_TIMELIMIT and the like in the environment change it.  CLUSTER.md says more.
#
#SBATCH --ntasks=1 --cpus-per-task=1 --mem-per-cpu=2G
#SBATCH --time=08:00:00
#SBATCH --output=slurm-%A_%a.out
set -euo pipefail

submit() {
  local tasks=$1 rounds=$2 script round job after=() options=("${@:4}") i
  script=$(realpath -e "$3")
  for i in "${!options[@]}"; do  # a folder is where this was called
    if [ "$i" != 0 ] && [ "${options[i - 1]}" = --data ]; then
      options[i]=$(realpath -e "${options[i]}")
    elif [ "${options[i]#--data=}" != "${options[i]}" ]; then
      options[i]=--data=$(realpath -e "${options[i]#--data=}")
    fi
  done
  cd "$(dirname "${BASH_SOURCE[0]}")/.."
  for ((round = 1; round <= rounds; round++)); do
    job=$(sbatch --parsable --chdir="$PWD" --array="${ARRAY:-1-$tasks}" ${after[@]+"${after[@]}"} \
      reproduce/slurm.sh "$tasks" "$rounds" "$script" ${options[@]+"${options[@]}"})
    job=${job%%;*}  # on some clusters a name follows
    echo "round $round of $rounds: job $job"
    after=("--dependency=afterany:$job")  # whatever became of its tasks
  done
}

task() {
  # machine code stays on the node: processes of several nodes would write to a shared folder at
  # once.  What lies there is run, so the folder has to be ours.
  if [ -z "${NUMBA_CACHE_DIR:-}" ]; then
    NUMBA_CACHE_DIR=/tmp/mirrormc-$(id -u)
    mkdir -p -m 700 "$NUMBA_CACHE_DIR" 2> /dev/null || true
    if [ ! -O "$NUMBA_CACHE_DIR" ] || [ -L "$NUMBA_CACHE_DIR" ]; then
      NUMBA_CACHE_DIR=$(mktemp -d)
    fi
  fi
  export NUMBA_CACHE_DIR OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg
  # the first task on a node compiles, and those that come meanwhile wait for it
  exec "${PYTHON:-.venv/bin/python}" "$3" "${@:4}" --jobs 1 --shard "$SLURM_ARRAY_TASK_ID/$1"
}

if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
  task "$@"
elif [ $# -ge 3 ] && [[ $1 =~ ^[1-9][0-9]*$ ]] && [[ $2 =~ ^[1-9][0-9]*$ ]]; then
  submit "$@"
else
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
fi
