(() => {
  'use strict';
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  const space = document.querySelector('svg[data-panel]').namespaceURI;
  const make = (name, attributes, ...children) => {
    const found = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    found.append(...children);
    return found;
  };
  const raised = k => [...k].map(c => c === '-' ? '\u207b' : '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079'[c]).join('');
  const digits = n => String(n).replace(/e\+?(.+)/, (_, k) => '\u00b710' + raised(k)).replace(/^(-?)1\u00b7/, '$1').replace('-', '\u2212');
  const number = (x, n = 3) => x === null || x === undefined ? 'none' : digits(Math.abs(x) >= 1e5 || (x && Math.abs(x) < 1e-3) ? (+(+x).toPrecision(n)).toExponential() : +(+x).toPrecision(n));
  const W = 320, H = 250, left = 52, right = 14, top = 8, low = 34; // a picture and its margins

  const laboratory = section => {
    const kept = JSON.parse(section.querySelector('[type="application/json"]').textContent);
    for (const each of kept.shapes) { // a number stands for numbers running from it
      const n = [each[3], each[4]].find(Array.isArray).length;
      for (let k = 3; k < 8; k++) if (!Array.isArray(each[k])) each[k] = Array.from({length: n}, (_, i) => each[k] + i);
    }
    const part = name => section.querySelector('[data-lab=' + name + ']');
    const inputs = all('[data-control]', section), svgs = all('svg[data-panel]', section), slider = part('frame');
    let here = null, playing = 0;
    const at = () => inputs.map(each => +each.value);
    const place = where => where.reduce((n, k, i) => n * kept.controls[i].texts.length + k, 0);

    // axes
    const scale = (ends, log, a, b) => {
      const f = log ? Math.log10 : x => x, [u, v] = ends.map(f);
      return x => a + (f(x) - u) / (v - u) * (b - a);
    };
    const ticks = ([u, v], log) => {
      const found = [];
      if (log) {
        const first = Math.ceil(Math.log10(u) - 1e-9), last = Math.floor(Math.log10(v) + 1e-9), by = Math.max(1, Math.ceil((last - first) / 5));
        if (last > first + 1) {
          for (let k = first; k <= last; k += by) found.push(10 ** k);
          return found;
        }
        for (let k = first - 1; k <= last; k++) for (const m of [1, 2, 5]) found.push(+(m * 10 ** k).toPrecision(2));
        return found.filter(x => x >= u * .999 && x <= v * 1.001);
      }
      const raw = (v - u) / 4, base = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].find(m => m * base >= raw * .75) * base;
      for (let k = Math.ceil(u / step - 1e-9); k * step <= v + 1e-9 * step; k++) found.push(+(k * step).toPrecision(6));
      return found;
    };
    const reach = (panel, shapes, axis) => {
      const log = panel.log.includes('xy'[axis]), fixed = panel.box.slice(2 * axis, 2 * axis + 2);
      if (!fixed.length) shapes = shapes.filter(each => each[2] < 0); // as the ground needs
      const found = shapes.filter(each => each[1] !== 'bands' || axis === 0).flatMap(each => each[3 + axis]).filter(x => x !== null && isFinite(x) && Math.abs(x) < 1e6 && (!log || x > 0));
      let u = Math.min(...found), v = Math.max(...found);
      if (!found.length) [u, v] = [log ? .1 : 0, 1];
      const room = (v - u) * .06 || Math.abs(v) * .1 || 1;
      [u, v] = log ? [u / 1.3, v * 1.3] : [u - room, v + room];
      return [fixed[0] ?? u, fixed[1] ?? v];
    };

    // a picture, at frame t
    const draw = (svg, k, t) => {
      const panel = kept.panels[k], shapes = here.series.map(each => kept.shapes[each]).filter(each => each[0] === k);
      const ends = [reach(panel, shapes, 0), reach(panel, shapes, 1)];
      const x = scale(ends[0], panel.log.includes('x'), left, W - right), y = scale(ends[1], panel.log.includes('y'), H - low, top);
      const clip = section.id + '-clip' + k, marks = make('g', {'clip-path': 'url(#' + clip + ')'});
      const inside = (a, b) => a !== null && b !== null && (!panel.log.includes('y') || b > 0);
      const path = points => {
        let d = '', pen = false;
        for (const [a, b] of points) {
          if (!inside(a, b)) { pen = false; continue; }
          d += (pen ? 'L' : 'M') + Math.max(-1e5, Math.min(1e5, x(a))).toFixed(1) + ' ' + Math.max(-1e5, Math.min(1e5, y(b))).toFixed(1);
          pen = true;
        }
        return d;
      };
      for (const line of panel.ground) marks.append(make('path', {d: path(line), class: 'ground'}));
      const said = [];
      for (const [, kind, of, xs, ys, born, gone, full, dashed] of [...shapes].sort((a, b) => (a[1] === 'bands' ? 0 : 1) - (b[1] === 'bands' ? 0 : 1))) {
        const there = xs.map((_, i) => i).filter(i => (!born.length || born[i] <= t) && (!gone.length || gone[i] > t));
        const points = there.map(i => [xs[i], ys[i]]), name = 'of' + of + (dashed ? ' dashed' : '');
        if (kind === 'bands')
          for (const [a, b] of points) {
            const from = Math.max(left, x(a)), to = Math.min(W - right, x(b));
            if (to > from) marks.append(make('rect', {x: from, width: to - from, y: top, height: H - low - top, class: name + ' band'}));
          }
        if (['line', 'path', 'trace', 'chain'].includes(kind) && points.length > 1) marks.append(make('path', {d: path(points), class: name}));
        if (['dots', 'path', 'chain'].includes(kind))
          points.forEach(([a, b], n) => {
            if (inside(a, b)) marks.append(mark(of, x(a), y(b), 2.3, name + (full.length && full[there[n]] > t ? ' hollow' : '')));
          });
        const [a, b] = points[points.length - 1] || [null, null];
        if (['now', 'path', 'trace'].includes(kind) && inside(a, b)) {
          marks.append(mark(of, x(a), y(b), 4.6, name + ' now'));
          said.push((kept.samplers[of] || '') + ' at ' + panel.x + ' ' + number(a) + ', ' + panel.y + ' ' + number(b));
        }
      }
      const axes = [make('rect', {x: left, y: top, width: W - left - right, height: H - low - top, class: 'frame'})];
      for (const a of ticks(ends[0], panel.log.includes('x'))) axes.push(make('path', {d: 'M' + x(a).toFixed(1) + ' ' + (H - low) + 'v3', class: 'tick'}), make('text', {x: x(a), y: H - low + 13, 'text-anchor': 'middle'}, number(a)));
      for (const b of ticks(ends[1], panel.log.includes('y'))) axes.push(make('path', {d: 'M' + left + ' ' + y(b).toFixed(1) + 'h-3', class: 'tick'}), make('text', {x: left - 5, y: y(b) + 3, 'text-anchor': 'end'}, number(b)));
      axes.push(make('text', {x: (left + W - right) / 2, y: H - 5, 'text-anchor': 'middle'}, panel.x),
        make('text', {transform: 'translate(10 ' + (top + H - low) / 2 + ') rotate(-90)', 'text-anchor': 'middle'}, panel.y));
      svg.replaceChildren(make('clipPath', {id: clip}, make('rect', {x: left - 5, y: top - 5, width: W - left - right + 10, height: H - low - top + 10})), ...axes, marks);
      svg.setAttribute('aria-label', panel.title + '. ' + (said.length ? 'Newest: ' + said.join('; ') : panel.y + ' against ' + panel.x) + '.');
    };
    // a circle, a triangle or a square: beside the colour, for those who see none
    const mark = (of, a, b, r, name) => of === 1 ? make('path', {d: 'M' + (a - r) + ' ' + (b + r * .8) + 'h' + 2 * r + 'l' + -r + ' ' + -1.9 * r + 'z', class: name + ' dot'})
      : of === 2 ? make('rect', {x: a - r * .85, y: b - r * .85, width: 1.7 * r, height: 1.7 * r, class: name + ' dot'})
        : make('circle', {cx: a, cy: b, r, class: name + ' dot'});

    const shown = (found, t) => number(Array.isArray(found) ? found[t] : found);
    const cells = all('tbody tr', part('numbers')).map(row => all('td', row));
    const frame = (t, tell = true) => {
      slider.value = t;
      part('count').textContent = t + ' of ' + (here.frames - 1);
      slider.setAttribute('aria-valuetext', part('count').textContent);
      svgs.forEach((svg, k) => draw(svg, k, t));
      here.numbers.forEach((row, k) => row.forEach((each, n) => {
        const text = shown(each, t);
        if (cells[k][n].textContent !== text) cells[k][n].textContent = text;
      }));
      if (tell) part('said').textContent = kept.controls.map((each, i) => each.label + ' ' + each.texts[at()[i]]).join(', ') + '. '
        + kept.told.map(k => kept.rows[k] + ': ' + kept.samplers.map((name, n) => name + ' ' + shown(here.numbers[k][n], t)).join(', ')).join('; ') + '.';
    };
    const stop = () => {
      clearInterval(playing);
      playing = 0;
      part('play').textContent = 'play';
    };
    const show = () => {
      stop();
      here = kept.settings[place(at())];
      inputs.forEach((each, i) => {
        const text = kept.controls[i].texts[+each.value], out = each.parentElement.querySelector('output');
        if (out) out.textContent = text;
        if (each.type === 'range') each.setAttribute('aria-valuetext', text);
      });
      for (const each of all('[data-preset]', section))
        each.setAttribute('aria-pressed', String(kept.presets[+each.dataset.preset].at.every((k, i) => k === at()[i])));
      slider.max = here.frames - 1;
      part('run').hidden = here.frames < 2;
      frame(here.frames - 1);
    };
    for (const each of inputs) each.oninput = show;
    for (const each of all('[data-preset]', section))
      each.onclick = () => {
        kept.presets[+each.dataset.preset].at.forEach((k, i) => { inputs[i].value = k; });
        show();
      };
    slider.oninput = () => { stop(); frame(+slider.value); };
    part('play').onclick = () => {
      if (playing) { stop(); frame(+slider.value); return; }
      let t = +slider.value < here.frames - 1 ? +slider.value : -1;
      part('play').textContent = 'pause';
      playing = setInterval(() => {
        frame(++t, t === here.frames - 1);
        if (t === here.frames - 1) stop();
      }, Math.max(60, Math.min(400, 8000 / here.frames)));
    };
    for (const each of all('svg.key', section)) {
      const of = +each.dataset.of;
      each.append(make('path', {d: 'M1 6H25', class: 'of' + of}), mark(of, 13, 6, 3.4, 'of' + of));
    }
    kept.presets[0].at.forEach((k, i) => { inputs[i].value = k; });
    show();
  };
  for (const each of all('.js')) each.hidden = false;
  for (const each of all('.lab')) laboratory(each);
  const wanted = () => { // the address of a preset sets it
    const each = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (each && each.dataset.preset) each.click();
  };
  addEventListener('hashchange', wanted);
  wanted();
})();
