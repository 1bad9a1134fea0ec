(() => {
  'use strict';
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const dock = document.getElementById('dock'), part = name => dock.querySelector('[data-dock=' + name + ']');
  const runs = JSON.parse(document.getElementById('runs').textContent);
  const svg = part('picture'), slider = part('slider');
  let run = null, record = null, at = 0, replay = -1, by = null; // by: the button that opened it

  // numbers
  const number = (x, digits) => (typeof x === 'number' ? String(Number.isInteger(x) ? x : +x.toPrecision(digits)) : String(x))
    .replace(/-/g, '\u2212').replace('inf', '\u221e');
  const shown = (value, digits = 6) => {
    if (Array.isArray(value)) return '(' + value.map(each => shown(each, digits)).join(Array.isArray(value[0]) ? '; ' : ', ') + ')';
    if (value && value.shape) return '(' + shown(value.ends[0], digits) + ', \u2026, ' + shown(value.ends[1], digits) + ') of ' + value.shape.join(' \u00d7 ');
    return number(value, digits);
  };
  const pairs = changes => changes.map((each, k) => k % 2 ? record.values[each] : record.names[each]);

  // the page: the section of a function, and the line of the page that a line of its code is
  const section = f => document.getElementById(run.functions[f][0]);
  const lines = new Map();
  const line = (f, l) => {
    const id = run.functions[f][0];
    if (!lines.has(id))
      lines.set(id, new Map(all('.cl', section(f)).map(each => [each.querySelector('a').textContent, each])));
    return lines.get(id).get(String(run.functions[f][1][l]));
  };
  const title = f => section(f).querySelector('h2').textContent.trim();
  const numbers = (f, l) => {
    const row = line(f, l).closest('.r');
    return all('.n', row).map(each => each.textContent.replace('\u2260', '').trim()).filter((each, k, them) => them.indexOf(each) === k);
  };
  const where = (f, l) => {
    const found = numbers(f, l);
    return title(f) + (found.length ? (found.length > 1 ? ', lines ' : ', line ') + found.join(', ') : ', a line of ours');
  };

  // what is known after a step: the calls that are open, and what each line did last
  const known = end => {
    const stack = [], did = new Map();
    for (let k = 0; k <= end; k++) {
      const [f, l, depth, changes, calls] = record.steps[k], found = pairs(changes);
      if (!calls) stack.length = depth + 1;
      else {
        stack.length = depth + 1;
        if (depth >= 0) stack[depth].line = l;
        stack.push({f: k + 1 < record.steps.length ? record.steps[k + 1][0] : f, line: null, locals: new Map()});
      }
      const frame = stack[stack.length - 1];
      if (!calls) frame.line = l;
      frame.changed = new Set();
      for (let j = 0; j < found.length; j += 2) {
        for (const name of [...frame.locals.keys()])
          if (name.startsWith(found[j] + '[')) frame.locals.delete(name);
        frame.locals.set(found[j], found[j + 1]);
        frame.changed.add(found[j]);
      }
      if (!calls) did.set(f + ':' + l, found);
    }
    return {stack, did};
  };

  const clear = () => {
    for (const each of all('.at, .calls')) each.classList.remove('at', 'calls');
  };
  const mark = (f, l, top) => {
    const here = line(f, l), row = here.closest('.r');
    here.classList.add(top ? 'at' : 'calls');
    if (!top) return;
    for (const each of all('.pl', row)) {
      each.classList.add('at');
      const first = each.classList.contains('again') && document.getElementById(each.querySelector('a').hash.slice(1));
      if (first) first.classList.add('at');
    }
  };
  const text = found => {
    const parts = [];
    for (let j = 0; j < found.length; j += 2) parts.push(found[j] + ' = ' + shown(found[j + 1], 4));
    return parts.join('   ');
  };
  const show = (k, follow = true) => {
    at = Math.max(0, Math.min(k, record.steps.length - 1));
    const {stack, did} = known(at), [f, l, depth, , calls] = record.steps[at], top = stack[stack.length - 1];
    clear();
    for (const frame of stack) if (frame.line !== null) mark(frame.f, frame.line, frame === top || (calls && frame === stack[depth]));
    for (const each of all('.v')) {
      const found = did.get(each.dataset.key);
      const said = found ? text(found) : '';
      if (each.textContent !== said) each.textContent = said;
      each.classList.toggle('now', !calls && each.dataset.key === f + ':' + l);
    }
    // words
    const last = at === record.steps.length - 1;
    part('where').textContent = depth < 0 ? 'Start: ' + title(f)
      : where(f, l) + (calls ? ', calls ' + title(top.f) : '') + (last ? ': the end' + (record.stopped ? ', ' + record.stopped : '') : '');
    part('said').textContent = calls ? '' : text(pairs(record.steps[at][3])) || (last ? '' : 'nothing changes');
    part('stack').textContent = stack.map(frame => run.functions[frame.f][2]).join(' \u203a ');
    const table = part('locals');
    table.replaceChildren(...[...top.locals].map(([name, value]) => {
      const row = document.createElement('tr'), head = document.createElement('th'), cell = document.createElement('td');
      row.className = top.changed.has(name) ? 'new' : '';
      head.scope = 'row';
      head.textContent = name;
      cell.textContent = shown(value);
      row.append(head, cell);
      return row;
    }));
    const fresh = table.querySelector('.new');
    if (fresh) table.parentElement.scrollTop = Math.max(0, fresh.offsetTop - 20);
    part('count').textContent = at + ' of ' + (record.steps.length - 1);
    slider.value = at;
    slider.setAttribute('aria-valuetext', part('count').textContent + ', ' + part('where').textContent);
    for (const [name, off] of [['start', at === 0], ['back', at === 0], ['next', last], ['over', last], ['end', last]])
      part(name).setAttribute('aria-disabled', String(off));
    draw();
    const target = depth >= 0 && line(f, l);
    if (target && follow) {
      const box = target.getBoundingClientRect(), low = dock.getBoundingClientRect().top, high = document.getElementById('bar').getBoundingClientRect();
      if (box.top < Math.max(0, high.bottom) + 20 || box.bottom > low - 20)
        scrollTo({top: scrollY + box.top - low * .45, behavior: 'auto'});
    }
  };

  // opening and closing
  const take = j => { // the run as it is here, or as a replay
    restore();
    replay = j;
    record = j < 0 ? run : run.replays[j];
    if (j >= 0)
      for (const [f, places, code] of record.lines)
        places.forEach((l, k) => {
          const here = line(f, l), old = here.querySelector('code');
          kept.push([here, old, old.cloneNode(true)]);
          here.classList.add('printed');
          old.textContent = k ? '' : code;
        });
    for (const each of all('button', part('replays'))) each.setAttribute('aria-pressed', String(+each.dataset.replay === j));
    part('fails').innerHTML = j < 0 ? '' : record.says;
    slider.max = record.steps.length - 1;
    // room for the values, so that nothing moves while one steps
    for (const each of all('.v')) each.remove();
    const seen = new Set(record.steps.filter(step => !step[4]).map(step => step[0] + ':' + step[1]));
    for (const key of seen) {
      const value = document.createElement('div');
      value.className = 'v';
      value.dataset.key = key;
      const here = line(...key.split(':').map(Number));
      value.style.cssText = here.querySelector('code').style.cssText;
      here.append(value);
    }
  };
  let kept = [];
  const restore = () => {
    for (const [here, now, old] of kept) {
      now.replaceWith(old);
      here.classList.remove('printed');
    }
    kept = [];
  };
  const open = (k, j, opener) => {
    run = runs[k];
    by = opener;
    part('about').innerHTML = run.about;
    part('title').textContent = run.functions[0][2];
    part('replays').replaceChildren(...(run.replays.length ? [[-1, 'as the code has it'], ...run.replays.map((each, n) => [n, 'as printed: ' + each.where])] : [])
      .map(([n, label]) => {
        const button = document.createElement('button');
        button.type = 'button';
        button.textContent = label;
        button.dataset.replay = n;
        button.onclick = () => { take(n); show(at); };
        return button;
      }));
    dock.hidden = false;
    document.body.classList.add('stepping');
    take(j);
    const first = j >= 0 && record.lines.length ? record.steps.findIndex(step => !step[4] && step[0] === record.lines[0][0] && record.lines[0][1].includes(step[1])) : wanted(-1);
    show(Math.max(0, first));
    part('next').focus({preventScroll: true});
  };
  const close = () => {
    restore();
    clear();
    for (const each of all('.v')) each.remove();
    dock.hidden = true;
    document.body.classList.remove('stepping');
    run = null;
    if (by) by.focus();
  };
  // the next step, after k, of the line that the address names
  const wanted = (k, address = location.hash) => {
    const target = address && document.getElementById(decodeURIComponent(address.slice(1)));
    const row = target && target.classList.contains('pl') && target.closest('.r');
    if (!row) return -1;
    const isThere = step => !step[4] && line(step[0], step[1]).closest('.r') === row;
    const after = record.steps.findIndex((step, n) => n > k && isThere(step));
    return after >= 0 ? after : record.steps.findIndex(isThere);
  };

  // steps
  const over = (way) => {
    const depth = Math.max(0, record.steps[at][2]);
    for (let k = at + way; k >= 0 && k < record.steps.length; k += way)
      if (record.steps[k][2] <= depth && !record.steps[k][4]) return k;
    return way > 0 ? record.steps.length - 1 : 0;
  };
  const go = {start: () => show(0), back: () => show(at - 1), next: () => show(at + 1), over: () => show(over(1)),
    end: () => show(record.steps.length - 1), close};
  for (const name of Object.keys(go)) part(name).onclick = go[name];
  slider.oninput = () => show(+slider.value);
  for (const button of all('[data-run]'))
    button.onclick = () => open(+button.dataset.run, +(button.dataset.replay || -1), button);
  document.addEventListener('click', event => { // also where the address is this line's already
    const link = run && event.target.closest('.pl .n');
    const k = link ? wanted(at, link.hash) : -1;
    if (k >= 0) show(k, false);
  });
  document.addEventListener('keydown', event => {
    if (!run || event.ctrlKey || event.altKey || event.metaKey) return;
    const inside = dock.contains(event.target), key = event.key;
    if (!inside && event.target !== document.body) return;
    const what = key === 'ArrowRight' ? go.next : key === 'ArrowLeft' ? go.back : key === 'Escape' ? close
      : !inside ? null : key === 'ArrowDown' ? go.over : key === 'ArrowUp' ? () => show(over(-1))
        : key === 'Home' ? go.start : key === 'End' ? go.end : null;
    if (!what) return;
    event.preventDefault();
    what();
  });

  // the picture
  const make = (name, attributes, ...children) => {
    const found = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    found.append(...children);
    return found;
  };
  const words = (x, y, said, more = {}) => make('text', {x, y, ...more}, said.replace('-', '\u2212').replace(/_(\d)/g, (_, k) => String.fromCharCode(8320 + +k)));
  const finite = each => typeof each === 'number' && Math.abs(each) < 1e6;
  const span = found => {
    const kept = found.filter(finite), low = Math.min(...kept), high = Math.max(...kept), room = (high - low) * .08 || .5;
    return kept.length ? [low - room, high + room] : [0, 1];
  };
  const axis = ([low, high], a, b) => x => finite(x) ? a + (x - low) / (high - low) * (b - a) : a;
  const path = points => points.map(([x, y], k) => (k ? 'L' : 'M') + x.toFixed(1) + ' ' + y.toFixed(1)).join('');
  const until = track => track.filter(([step]) => step <= at).map(([, point]) => point);
  const frame = (x, y, w, h) => make('rect', {x, y, width: w, height: h, class: 'frame'});
  const draw = () => {
    const {kind, labels, ground} = run.picture;
    svg.hidden = !kind;
    svg.style.display = kind ? '' : 'none';
    if (!kind) return;
    const found = {plane, chain, sites}[kind](labels, ground, until(record.track), record.track.map(each => each[1]));
    svg.replaceChildren(...found.marks);
    svg.setAttribute('aria-label', found.said);
  };
  // where lines of the ground and points are, 160 by 160 from (22, 8)
  const place = (ground, points) => {
    const xs = [...ground.flat().map(each => each[0]), ...points.map(each => each[0])];
    const ys = [...ground.flat().map(each => each[1]), ...points.map(each => each[1])];
    const x = axis(span(xs), 22, 182), y = axis(span(ys), 168, 8);
    return ([a, b]) => [x(a), y(b)];
  };
  const plane = (labels, ground, done, whole) => {
    const ours = replay >= 0 ? run.track.map(each => each[1]) : [], spot = place(ground, [...whole, ...ours]);
    const marks = [frame(22, 8, 160, 160), ...ground.map(each => make('path', {d: path(each.map(spot)), class: 'ground'}))];
    const values = [...whole, ...ours].map(each => each[2]), range = span(values);
    const x = axis([0, Math.max(whole.length, ours.length, 2) - 1], 240, 372), y = axis(range, 168, 8);
    const curve = points => path(points.map((each, k) => [x(k), y(each[2])]));
    const kind = replay >= 0 ? 'theirs' : 'ours';
    marks.push(frame(232, 8, 148, 160));
    if (ours.length) marks.push(make('path', {d: path(ours.map(spot)), class: 'other'}), make('path', {d: curve(ours), class: 'other'}));
    marks.push(make('path', {d: path(done.map(spot)), class: kind}), make('path', {d: curve(done), class: kind}));
    done.forEach((each, k) => {
      const newest = k === done.length - 1 ? ' newest' : '', [a, b] = spot(each);
      marks.push(make('circle', {cx: a, cy: b, r: newest ? 4 : 2.2, class: kind + newest}),
        make('circle', {cx: x(k), cy: y(each[2]), r: newest ? 4 : 2.2, class: kind + newest}));
    });
    marks.push(words(102, 182, labels[0], {'text-anchor': 'middle'}), words(10, 88, labels[1], {'text-anchor': 'middle'}),
      words(306, 182, labels[2], {'text-anchor': 'middle'}),
      words(229, 15, number(range[1], 3), {'text-anchor': 'end'}), words(229, 168, number(range[0], 3), {'text-anchor': 'end'}));
    const here = done[done.length - 1];
    return {marks, said: here ? 'Point ' + done.length + ' of ' + whole.length + ': ' + labels[0] + ' = ' + number(here[0], 4) + ', ' + labels[1] + ' = ' + number(here[1], 4)
      + ', ' + labels[2] + ' = ' + number(here[2], 4) : 'No point yet.'};
  };
  const chain = (labels, ground, done, whole) => {
    const states = point => { const found = []; for (let k = 2; k < point.length; k += 4) found.push(point.slice(k, k + 4)); return found; };
    const every = whole.flatMap(states), spot = place(ground, every.map(each => each.slice(1)));
    const here = done[done.length - 1] || [0, 0], there = states(here).sort((a, b) => a[0] - b[0]);
    const ks = every.map(each => each[0]), range = span(every.map(each => each[3]));
    const x = axis([Math.min(0, ...ks), Math.max(1, ...ks)], 244, 368), y = axis(range, 150, 14);
    const marks = [frame(22, 8, 160, 160), ...ground.map(each => make('path', {d: path(each.map(spot)), class: 'ground'})), frame(232, 8, 148, 160),
      make('path', {d: path(there.map(each => spot(each.slice(1)))), class: 'other'})];
    for (const [k, a, b, value] of there) {
      const [u, w] = spot([a, b]), evaluated = finite(value), kind = 'ours' + (k === here[0] ? ' newest' : '') + (evaluated ? '' : ' hollow');
      marks.push(make('circle', {cx: u, cy: w, r: k === here[0] ? 5 : 3, class: kind}), words(u + 6, w - 4, number(k, 3)));
      if (evaluated) marks.push(make('circle', {cx: x(k), cy: y(value), r: k === here[0] ? 5 : 3, class: kind}));
      marks.push(words(x(k), 163, number(k, 3), {'text-anchor': 'middle', class: k === here[0] ? 'mark' : k === here[1] ? 'asked' : ''}));
    }
    marks.push(words(102, 182, labels[0], {'text-anchor': 'middle'}), words(10, 88, labels[1], {'text-anchor': 'middle'}), words(306, 182, labels[2], {'text-anchor': 'middle'}),
      words(229, 15, number(range[1], 3), {'text-anchor': 'end'}), words(229, 150, number(range[0], 3), {'text-anchor': 'end'}));
    return {marks, said: 'The mark is at step ' + here[0] + ' of a chain with ' + there.length + ' states; pi was computed at ' + there.filter(each => finite(each[3])).length + '.'};
  };
  const sites = (labels, ground, done, whole) => {
    const n = (whole[0].length - 1) / 2, ends = whole.flatMap(each => each.slice(1, n + 1).flatMap((mean, k) => [mean - each[n + 1 + k], mean + each[n + 1 + k]]));
    const range = span([...ends, 0]), y = axis(range, 168, 8), here = done[done.length - 1];
    const marks = [frame(22, 8, 340, 160), make('path', {d: 'M22 ' + y(0) + 'H362', class: 'ground'})];
    for (let k = 0; here && k < n; k++) {
      const u = 22 + 340 * (k + .5) / n, mean = here[1 + k], sd = here[1 + n + k], kind = k === here[0] ? 'ours newest' : 'ours';
      marks.push(make('path', {d: 'M' + u + ' ' + y(mean - sd) + 'V' + y(mean + sd), class: kind}), make('circle', {cx: u, cy: y(mean), r: 4, class: kind}));
    }
    for (let k = 0; k < n; k++) marks.push(words(22 + 340 * (k + .5) / n, 182, 'f_' + (k + 1), {'text-anchor': 'middle'}));
    marks.push(words(19, 15, number(range[1], 2), {'text-anchor': 'end'}), words(19, 168, number(range[0], 2), {'text-anchor': 'end'}));
    return {marks, said: here ? 'Site ' + (here[0] + 1) + ' was updated: mean ' + number(here[1 + here[0]], 4) + ', standard deviation ' + number(here[1 + n + here[0]], 4) : 'No site was updated yet.'};
  };
})();
