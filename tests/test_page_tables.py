"""reproduce/harness/tables.py: what the pages show is what is saved, and a stale page is seen."""

import json
import math
import re
from importlib import import_module

import pytest

from judging import read_tables
from reproduce.all import results, saved_runs
from reproduce.harness import tables
from reproduce.harness.files import DataError
from reproduce.harness.papers import PAPERS, ROOT, module, script, scripts
from reproduce.harness.run import Settings
from reproduce.harness.tables import BLOCK, NUMBERS, Script, fill_blocks, pages, read
from reproduce.shahbaba.printed import PROBLEMS
from reproduce.wang.printed import ROWS
from reproduce.zhang.printed import TABLES


def claim(what, verdict, kind, value=1.25, se=0.5, **more):
    known = {"why": "_why_", "derived": "2026-01-01", "seen": "", "cause": ""}
    return {"what": what, "paper": "a*b", "kind": kind, "value": value, "se": se, "cell": "",
            "verdict": verdict, "known": known if verdict == "known difference" else None,
            "power": 2.0, "note": "", "why": ""} | more


SCAN = {"what": "c", "paper": "4", "kind": "order", "verdict": "not specified", "known": None,
        "scan": {"settings": [1, 2, 3], "found": [[7.0, 0.5], [-3.0, 0.0], [math.nan, math.nan]]},
        "cell": "", "power": math.nan, "note": "", "why": ""}
FIG = Script("paquet_fig1", "Paquet and Fraccaro (2016), Figure 1: a_b.", [
    claim("x|y", "agrees", "printed number"), claim("z", "known difference", "printed number"),
    claim("w", "agrees", "ours", 3.0, 0.0)])
TABLE = Script("wang_table1", "Beside Wang and Neal (2013): more.", [
    SCAN, claim("z", "inconclusive", "printed sentence"),
    claim("a_test", "differs", "joint test", note="chi-squared 9")])
OTHER = Script("wang_rivals", "Rivals of Wang and Neal (2013): others.", None, "beyond")
MEET = Script("meet", "All papers.", None)
SCRIPTS = [MEET, FIG, OTHER, TABLE]
HEADER = (" | agrees | too weak | inconclusive | not specified | known difference |"
          " every setting differs | differs | median factor noticed |")
RULE = f"|{' --- |' * 10}"


def test_the_score_of_all_papers():
    fig = FIG._replace(name="shahbaba_fig1")
    assert tables.score([MEET, fig, OTHER, TABLE]).splitlines() == [
        "| printed numbers, each once | compared" + HEADER, RULE,
        "| [Shahbaba, Lan, Johnson & Neal](reproduce/shahbaba/README.md), 108 in its tables |"
        " 2 | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 2 |",
        "| [Zhang & Sutton](reproduce/zhang/README.md), 77 in its tables | 0 | 0 | 0 | 0 | 0 | 0"
        " | 0 | 0 | - |",
        "| [Wang & Neal](reproduce/wang/README.md), 96 in its tables | 0 | 0 | 0 | 0 | 0 | 0 | 0"
        " | 0 | - |", "", "Not yet run, and in no count: `meet`, `wang_rivals`."]


def test_of_what_agrees_the_score_says_how_much_are_times():
    claims = [claim(what, verdict, "printed number", why=why) for what, verdict, why in (
        ("a", "agrees", "machine (ratios only)"), ("b", "agrees", "rounding"),
        ("c", "too weak", "machine (ratios only)"))]
    assert tables.row("all", [(FIG, each) for each in claims], tables.NUMBERS)[:4] == [
        "all", 3, "2 (1 CPU times)", 1]
    assert tables.row("all", [(FIG, each) for each in claims[1:]], tables.NUMBERS)[2] == 1


def test_a_paper_has_its_classes_of_claims_and_a_row_for_each_script():
    lines = tables.contents(SCRIPTS, "wang")["claims"]().splitlines()
    assert lines[0] == "| claims | in all" + HEADER and "| checks of ours" in lines[6]
    assert "| sentences and orders | 2 | 0 | 0 | 1 | 1 | 0 | 0 | 0 | 2 |" in lines
    assert lines[8:] == [
        "| script | what it computes | its joint tests | its other claims | claims |",
        "| --- | --- | --- | --- | --- |",
        "| [`wang_table1`](../wang_table1.py) | more | a\\_test: differs | 1 inconclusive, 1 not"
        " specified | [all](../../figures/wang_table1.txt) |",
        "", "Not yet run, and in no count: `wang_rivals`."]


def test_a_printed_number_counts_once_by_its_worst_verdict():
    def numbers(*verdicts, kind="printed number", cell="Table 1, tau"):
        claims = [claim(str(k), v, kind, cell=cell) for k, v in enumerate(verdicts)]
        return [(FIG, c) for c in claims[:1]] + [(FIG._replace(name="paquet_z"), c)
                                                for c in claims[1:]]

    def found(*given, **more):
        return {v: n for v, n in tables.counts(numbers(*given, **more), NUMBERS).items() if n}

    assert found("agrees", "inconclusive", "too weak") == {"inconclusive": 1}
    assert found("agrees", "known difference", "every setting differs") == {
        "every setting differs": 1}
    assert found("agrees", "agrees", cell="") == {"agrees": 2}
    assert found("agrees", kind="ours") == {}
    assert tables.counts(numbers("agrees", "agrees", kind="ours"), "checks of ours")["agrees"] == 2


def test_known_differences_of_one_cause_count_once_as_causes():
    def known(what, cause):
        return FIG, claim(what, "known difference", "order", known={"cause": cause})

    causes = [known("a", "the mass"), known("b", "the mass"), known("c", ""), known("d", "")]
    # declared after the run, it is none
    causes.append((FIG, claim("e", "differs", "order", known={"cause": "another"})))
    assert tables.row("", causes, "sentences and orders")[6] == "4 (3 causes)"


def test_the_tables_of_the_papers_have_as_many_numbers():
    # of Split HMC all but the settings L; the others' as they are read from print
    assert PAPERS["shahbaba"].numbers == sum(
        len(cells) for problem in PROBLEMS.values() for name, cells in problem.rows.items()
        if name != "L")
    assert PAPERS["zhang"].numbers == sum(len(cells) for table in TABLES.values()
                                   for cells in table.rows.values())
    assert PAPERS["wang"].numbers == sum(len(getattr(each, name)) for each in ROWS.values()
                                  for name in ("tau", "seconds", "ratio")) + len(ROWS)


def test_what_is_inconclusive_is_shown_with_its_reason_and_markup_is_none():
    one = claim("z", "inconclusive", "order", undecided="a * b are few; 9 times the runs")
    assert tables.verdict_and_reason(one) == "inconclusive: a * b are few; 9 times the runs"
    assert tables.verdict_and_reason(claim("z", "agrees", "order")) == "agrees"
    assert tables.escape("pi*_x < |y|") == "pi\\*\\_x \\< \\|y\\|"
    assert tables.markdown(["a", "b"], [["x|y", tables.escape("x|y")]])[-1] == "| x\\|y | x\\|y |"


def test_only_what_stands_between_the_markers_is_written():
    page = ("a\n<!-- one -->\n" + "stale " * 20 + "\n<!-- /one -->\nb\n<!-- other -->\nkept\n"
            "<!-- /other -->\n<!-- one -->\n<!-- /one -->\n")
    new = fill_blocks(page, {"one": lambda: "got"})
    assert new == ("a\n<!-- one -->\ngot\n<!-- /one -->\nb\n<!-- other -->\nkept\n"
                   "<!-- /other -->\n<!-- one -->\ngot\n<!-- /one -->\n")
    assert fill_blocks(new, {"one": lambda: "got"}) == new


@pytest.mark.parametrize("page", ["<!-- one -->\nx\n", "x\n<!-- /one -->\n",
                                  "<!-- one -->\n<!-- one -->\n<!-- /one -->\n",
                                  "text <!-- one -->\n<!-- /one -->\n"])
def test_a_block_without_its_end_is_refused(page):
    with pytest.raises(ValueError, match="every block 'one' must be between the lines"):
        fill_blocks(page, {"one": lambda: ""})


def test_the_speed_table_is_a_record_of_benchmarks():
    record = ("pytest -m benchmark\n\nOne\nHMC, n = 9: 0.2 s; 20 passes: 0.1 s; ratio 2.00\n"
              "EP: 1.0 s; 3 calls: 2.0 s; ratio 0.50\n\n"
              "Another\nHMC, n = 9: 0.6 s; 20 passes: 0.2 s; ratio 3.00\n")
    assert tables.speed(record).splitlines() == [
        "| one thread, seconds | reference | One | Another |", "| --- | --- | --- | --- |",
        "| HMC, n = 9 | 20 passes | 0.2 / 0.1 = 2.00 | 0.6 / 0.2 = 3.00 |",
        "| EP | 3 calls | 1.0 / 2.0 = 0.50 |  |"]


def test_a_result_appears_by_itself_when_it_is_saved(tmp_path, monkeypatch, capsys):
    readme, script = tmp_path / "README.md", tmp_path / "reproduce" / "wang_m.py"
    for author in PAPERS:
        (tmp_path / "reproduce" / author).mkdir(parents=True)
        (tmp_path / "reproduce" / author / "README.md").write_text("nothing\n")
    readme.write_text("<!-- score -->\n<!-- /score -->\n")
    wang = tmp_path / "reproduce" / "wang" / "README.md"
    wang.write_text("<!-- claims -->\n<!-- /claims -->\n")
    script.write_text('"""Wang and Neal (2013): m.\n\nMore.\n"""\n')
    command, figures = import_module("reproduce.all"), tmp_path / "figures"
    figures.mkdir()
    monkeypatch.setattr(command, "scripts", lambda: [script])
    monkeypatch.setattr(command, "figures", lambda budget: figures)
    assert read([script], figures) == [Script("wang_m", "Wang and Neal (2013): m.", None)]
    for said in ("written", "up to date"):
        assert command.tables(tmp_path) is None
        out = capsys.readouterr().out.splitlines()
        assert len(out) == 6 and out[0] == f"README.md: {said}"
        assert out[5] == f"figures/results.md: {said}"
    assert "in no count: `wang_m`." in readme.read_text()
    (figures / "wang_m.json").write_text(json.dumps({"claims": FIG.claims}))
    texts = pages(tmp_path, read([script], figures))
    assert set(texts) == {*tmp_path.rglob("README.md")}
    assert ", 96 in its tables | 2 |" in texts[readme] and "wang_m" not in texts[readme]
    assert "| [`wang_m`](../wang_m.py) | m |  | 2 agrees, 1 known difference |" in texts[wang]
    assert texts[tmp_path / "reproduce" / "zhang" / "README.md"] == "nothing\n"
    (figures / "wang_m.json").write_text('{"claims"')  # a disk that was full
    for damaged in (command.saved_runs, lambda: read([script], figures)):
        with pytest.raises(DataError, match=r"wang_m.json is damaged .*git restore"):
            damaged()


SAVED = read(scripts(), ROOT / "figures")


def test_the_committed_pages_are_up_to_date():
    # if this fails, run python reproduce/all.py --tables
    assert [path for path, text in pages(ROOT, SAVED).items() if path.read_text() != text] == []
    assert results(saved_runs(), Settings("paper")) == (ROOT / "figures/results.md").read_text()
    for author in ("", *PAPERS):
        page = (ROOT / ("reproduce" * bool(author)) / author / "README.md").read_text()
        assert {*tables.contents(SAVED, author)} <= {found[1] for found in BLOCK.finditer(page)}


# The tables of the scripts: a row of what each one's own test has made up, by the heads; where
# that has equal numbers in two columns it has `shown` too.
# "script table row: head=cell; head=cell", numbers from 0; empty cells are left out
CELLS = """
zhang_fig1 0 0: method=HMC; time=50; range of v=0.5000 (0.0041); turns of v=12; of U=20.00 (0.16);
    of K=16.00 (0.13); of H=0.2
zhang_fig2 0 0: 10 runs of 20000=HMC; atanh phi: mean, sd=2.37256 (0.00010), 0.1500 (0.0015); log
    sigma: mean, sd=-1.84712 (0.00010), 0.1000 (0.0010); log beta: mean, sd=-0.38578 (0.00010),
    0.09000 (0.00090); arrival=148.4 (1.5); early distance=0.3679 (0.0037); outside the bins=0 1 2
zhang_fig3 0 0: method=RMHMC(Gibbs); draws=5000; chains=4; mean log sigma^2=0.500 (0.010);
    sd=0.500 (0.010); mean log beta=-1.000 (0.020); sd sd=1.000 (0.020); bulk ESS=600;
    tail ESS=500; R-hat=1.005; believed=yes
zhang_table1 0 0: runs of 5000=HMC; acceptance=paper; seconds=36.63; min ESS x=115.35; min
    ESS/s=3.14; ESS v=38.96; MSE E[v]=0.6; MSE E[v^2]=0.18
zhang_table1 0 3: runs of 5000=HMC; acceptance=0.7500 (0.0010); seconds=0.2; min ESS x=150.0 (1.5);
    min ESS/s=750; ESS v=20.00 (0.20); ESS v, long=3.000 (0.030); MSE E[v]=1.500 (0.015);
    MSE E[v^2]=9.000 (0.090); MSE Var(v)=5.000 (0.050)
zhang_table2 0 1: runs of 5000=RMHMC(Gibbs); acceptance=paper; min ESS w=0.8e3; median=4.08e3;
    max=4.99e3; ESS v=271; seconds=411; min ESS/s=0.6
zhang_table2 0 3: runs of 5000=HMC; acceptance=0.8000 (0.0010); min ESS w=2000 (20); median=3500
    (35); max=4500 (45); ESS v=1500 (15); worst=500.0 (5.0); seconds=0.5; min ESS/s=3e+03;
    gradients=10
zhang_table3 0 2: runs of 20000=SSHMC; acceptance=paper; time=883 s; x min=78.4e2; x med=98.9e2;
    x max=120.7e2; beta=4434; sigma=1706; phi=1390; least/s=1.57
zhang_table3 0 5: runs of 20000=SSHMC; acceptance=0.7800 (0.0010); time=883.4 s; x min=7840 (78);
    x med=9890 (99); x max=12070 (121); beta=4434 (44); sigma=1706 (17); phi=1390 (14);
    squares, least=1390 (14); least/s=1.573 (0.016)
zhang_table4 0 0: row=SSHMC, paper; hours=2.6; min x=780; med x=3000; max x=3900; sigma^2=2101;
    beta=270; least/h=103.8
zhang_table4 0 2: row=SSHMC, unit; acceptance=0.80; hours=0.0139; min x=780.0 (7.8); med x=3000
    (30); max x=3900 (39); sigma^2=2101 (21); beta=270.0 (2.7); least/h=1.94e+04; squares=54.6
    (5.5); draws=5000; chains=2; diverged=0
zhang_table4 0 7: row=HMC; acceptance=0.80; hours=0.139; min x=78.00 (0.78); med x=300.0 (3.0);
    max x=390.0 (3.9); sigma^2=210.1 (2.1); beta=27.00 (0.27); least/h=1.94e+03; squares=54.6
    (5.5); draws=500; chains=2; diverged=0
zhang_table4 1 1: row=SSHMC, unit; set=2; min x=787.8; med x=3030; max x=3939; sigma^2=2122;
    beta=272.7
zhang_errata 0 0: =Z1; number=mean of v; of the paper=0.0000 (0.0030); of ours=0.0000 (0.0030)
zhang_errata 1 4: table=Table 1; method=SSHMC; ratio=min/s; printed=103.57; of its factors=103.6
meet 0 5: problem=digits; method=mapping; draws=5000; work=20; before=1.2e+02; rate=0.80;
    R-hat=1.004; bulk=812; tail=701; per 1000 units=7389 (369); per CPU s=0.1353 (0.0068)
meet 1 0: problem=digits; method=SSHMC; setting=eps_theta 0.015, n_theta 8, eps_phi 0.2, L 6
shahbaba_multinomial 0 1: data=StatLog; method=normal; f=0.2; M=2; w_1 / w=0.50; eps=0.25; L=11;
    g=20; rate=0.80; R-hat=1.000; bulk=900; tail=800; E-BFMI=0.90; tau=5.56; squares=6.25;
    tau x g=403 (20); HMC / own=1.000 (0.071); random / own=1.100 (0.071)
shahbaba_multinomial 1 0: data=StatLog; method=HMC; 0.4=0.99; 0.45=0.91; 0.5=0.83; 0.55=0.75;
    0.6=0.67; 0.65=0.59; 0.7=0.50; 0.75=0.42; 0.8=0.34; 0.85=0.26; 0.9=0.18; 0.95=0.10; taken=0.6;
    gradients=20000
shahbaba_rivals 0 6: data=Simulated; row=HMC, M = J; eps, L, M=0.5, 4; rate=0.80; gradients=1e+05;
    R-hat=1.002; bulk=900; tail=800; E-BFMI=0.90; halves=2.0; per 1000 gradients=49.8 (2.5); per
    second=148.4 (7.4); by tau=135.3 (6.8); by tau_beta=368 (18); set-up=50
wang_m 0 0: row=1; method=SOD; columns=random; m=9; m / n=0.03; accepted=0.800; evaluations a
    draw=40.3; its log=3.697 (0.020); scatter=0.10
wang_m 1 0: row=2; m / n=0.50; accepted=0.100 (0.010)
wang_m 2 0: row=2; approximation=Nystrom, 95%; times as long=2.00 (0.10)
wang_prediction 0 0: data=1: short, isotropic, n = 300; sets=4; density=-0.73 (0.62); posterior
    - ML=0.01949 (0.00053); in 50%=0.496 0.456 0.496; in 95%=0.946 0.906 0.946; error=0.300 0.400
    0.300; draws=90; at an edge=0
wang_r_s 0 11: row=1; unit=random; slice=w = 1, limit 10; r=8; s=4; accepted=0.300; known=0.800
    (0.010); time=5.00 (0.10); evaluations=2; log(cost / r = s = 1)=0.693 (0.028)
wang_table2 0 1: T_STD, T / T_STD=SOD 40; paper=0.45; evaluations 1=1.000 (0.010); evaluations
    2=2.000 (0.020); evaluations 3=3.000 (0.030); evaluations 4=4.000 (0.040); seconds 1=10.00
    (0.10); seconds 2=20.00 (0.20); seconds 3=30.00 (0.30); seconds 4=40.00 (0.40);
    acceptance=0.10 0.20 0.30 0.40
wang_table3 0 0: tau=1 standard; paper=2.9; 1=1; 2=2; 3=3; 4=4; 1 (s.e., with sets)=1.00 (0.10); 1
    first=2; 1 literal=3; 1 Geyer=4; acceptance=0.10 0.20 0.30 0.40
wang_table3 1 1: iteration=1 SOD; paper, s=0.078; 1, ms=20; 2, ms=40; 3, ms=60; 4, ms=80; 1,
    pi=31; 2, pi=32; 3, pi=33; 4, pi=34; e=4.5; t* / t=0.024
wang_table3 2 0: e by the printed CPU times=1; variable=3.617; sweep=1.206; w = 1, limit 10=4.5; w =
    0.1, limit 3=4.5
wang_rivals 0 2: =mapping of the walk; kind 1=1.699 (0.036); kind 2=1.859 (0.039); kind 3=2.034
    (0.043); kind 4=2.226 (0.047); kind 5=2.435 (0.052); kind 6=2.664 (0.057); kind 7=2.915 (0.062);
    kind 8=3.238 (0.063); kind 9=3.490 (0.074); mean=2.44 (0.20)
wang_rivals 4 1: kind=2; 1 is=2 ms; scratch=2; gradient=2.1; scratch SOD=2.2; scratch Nystrom=2.3;
    scratch FITC=2.4; scratch variational=2.5; decomposition=2.6; fast=2.7
wang_errata 1 0: =relative error of C^^-1 with the vectors (41), not orthonormal, by (32); as the
    paper says=0.25; otherwise=by (37); error then=1
wang_errata 3 1: =row 1: T / T_STD, SOD; printed=0.45; of its factors=0.9
wang_windows 0 2: row=1; method=SOD; slice=w = 1, limit 10; paper=4.32; time=5.00 (0.25);
    window=5.06; nine in ten=4.3 to 5.81; windows=40; time / window=1.00; sigma > eta=0.300
wang_steps 0 0: row=1; slice=w = 0.05, limit 3; paper=2.90; time=2.900 (0.087); window=2.9;
    evaluations=9; SOD time=4.35 (0.13); window window=4.35; evaluations evaluations=3.6; an
    update=1.00; gain=1.67; paper paper=2.22
zhang_rivals 0 11: problem=volatility; method=HMC; draws=5000; work=20; before=1.2e+02; rate=0.80;
    R-hat=1.004; bulk=812; tail=701; E-BFMI=0.90; per 1000 units=135.3 (6.8); per CPU s=0.1353
    (0.0068)
zhang_rivals 1 2: problem=credit; method=SSHMC; setting=eps_theta 0.2, eps_phi 0.8, L 6, n_theta
    2, jitter 0.2
zhang_rivals 2 0: problem=funnel; =v; method=SSHMC; mean=0.000 (0.020); standard
    deviation=1.000 (0.030)
paquet_fig1 0 5: spread=1; l_max=10; local=1.50 +- 0.00; Euclidean=2.00 +- 0.00; eps HMC=0.2;
    accept=0.5; eps RMHMC=0.3; accept accept=0.93; % n.c.=2; % n.r.=1; metrics=1.5
paquet_fig1 1 1: =RMHMC; |energy error|=0.50002 (0.00079); return error=7.000 (0.011); energy
    error, shown=0.5000
paquet_fixed_point 0 8: =digits; eps=0.2; f=1=1e-01; f=2=1e-02; f=3=1e-03; f=4=1e-04; f=5=1e-05;
    f=6=1e-06; f=8=1e-08; f=10=1e-10; f=20=1e-20; lost, f=5=25; f=20 f=20=100; H, f=5=3e-05;
    c=0.7; max=0.8
paquet_fixed_point 1 0: =N = 1; eps=0.05; f=1=1e-01; f=2=1e-02; f=3=1e-03; f=4=1e-04; f=5=1e-05;
    f=6=1e-06; f=8=1e-08; f=10=1e-10; f=20=1e-20
paquet_fixed_point 2 4: =N = 1; eps=0.05; f_max=5; % rejected=25.00; diverged=6; mean=1.0e-03 +-
    1e-04; variance=2.0e-03 +- 2e-04; mean, exact=0.0030 +- 0.0003
paquet_fig2 0 0: =(a*); method=AISq-RMHMC; B=12; runs=3; log Z=-100.00; s.e.=0.03; eff.=3.0;
    mean=-100.10; s.d.=0.40; accept=0.800; |dH|=0.100; div.=0; CPU s=1.0
shahbaba_tau_beta 0 1: problem=Simulated; method=normal; tau: paper=3.2; ours=1.000 (0.010);
    tau_beta: paper=13.5; ours, beta=2.000 (0.010); ours, alpha and beta=3.000 (0.010)
shahbaba_errata 0 0: problem=Simulated; measure=tau x g; HMC / normal=2.72 z = 10.00 *; HMC /
    data=2.72 z = 10.00 *; normal / data=0.37 z = -10.00 **
shahbaba_fig4 0 0: slope=2; data sets=400; information in R_0=0.50 (0.42 to 0.58); curvature of
    U_1=0.20 (0.20 to 0.20); dU_1 along=0.50 (0.50 to 0.50); dU_1 across=0.30 (0.30 to 0.30);
    dU/dbeta_1 left=0.10 (0.10 to 0.10)
shahbaba_fig1 0 0: method=HMC; step=0.15; lag-1 autocorrelation=-0.5000 (0.0010); tau=0.5000
    (0.0050); mean jump=2.000 (0.010); acceptance=0.9700 (0.0010); CPU us / state=10.00 (0.10)
wang_fig1 0 0: pi*=SOD; accepted=0.3000 (0.0041); pi known=0.6075 (0.0048); pi evaluated=0.4; pi*
    evaluated=7
wang_fig2 0 0: =variable, w = 1, limit 10: SOD; tau=9.413 (0.093); paper=9.32; lag 1=0.80; lag
    2=0.64; lag 3=0.51
wang_fig2 0 1: =variable, w = 1, limit 10: tempered; tau=1.687 (0.017); paper=1.67; lag 1=0.30;
    lag 2=0.09; lag 3=0.03
wang_fig2 1 0: =variable, w = 1, limit 10; log tau=1.719 (0.014); early lags=0.31405 (0.00047)
"""


@pytest.mark.parametrize("line", CELLS.strip().replace("\n    ", " ").splitlines(),
                         ids=lambda line: line.split(":")[0])
def test_each_cell_of_a_report_stands_below_its_head(line):
    place, _, text = line.partition(": ")
    name, table, number = place.split()
    # a head, =, a cell; an = between spaces is a part of either
    wanted = dict(re.fullmatch(r"(.*)(?<! )=(?! )(.*)", each).groups()
                  for each in text.split("; "))
    study, tests = import_module(module(script(name))), import_module(f"test_{name}")
    report = study.table(getattr(tests, "shown", tests.made_up)())
    row = read_tables(report)[int(table)][int(number)]
    assert {" ".join(head.split()): " ".join(cell.split())
            for head, cell in row.items() if cell} == wanted
