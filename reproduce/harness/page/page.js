(() => {
  'use strict';
  const all = (what, where = document) => [...where.querySelectorAll(what)];
  for (const part of all('.js')) part.hidden = false;

  // a symbol: its row of the Notation, and its uses in the same algorithm
  const tip = document.getElementById('tip');
  let hot = [], at = null;
  const leave = () => {
    for (const each of hot) each.classList.remove('hot');
    hot = [];
    tip.hidden = true;
  };
  const enter = symbol => {
    leave();
    const row = document.getElementById('n' + symbol.dataset.n);
    const algorithm = symbol.closest('.alg');
    if (!row || !algorithm) return;
    hot = all(`[data-n="${symbol.dataset.n}"]`, algorithm);
    for (const each of hot) each.classList.add('hot');
    at = symbol;
    tip.replaceChildren(...[...row.cells].filter(cell => cell.textContent.trim() || cell.children.length)
      .map(cell => {
        const part = document.createElement('span');
        part.append(...[...cell.childNodes].map(node => node.cloneNode(true)));
        return part;
      }));
    tip.hidden = false;
    put();
  };
  const put = () => {
    const here = at.getBoundingClientRect(), box = tip.getBoundingClientRect();
    const below = here.bottom + 8 + box.height < innerHeight;
    tip.style.top = (below ? here.bottom + 8 : here.top - 8 - box.height) + 'px';
    tip.style.left = Math.max(8, Math.min(here.left, innerWidth - box.width - 8)) + 'px';
  };
  const symbolOf = event => event.target.closest ? event.target.closest('.alg .s') : null;
  for (const [event, show] of [['pointerover', true], ['focusin', true], ['pointerout', false], ['focusout', false]])
    document.addEventListener(event, e => { const s = symbolOf(e); if (s) show ? enter(s) : leave(); });
  document.addEventListener('keydown', e => { if (e.key === 'Escape') leave(); });
  // focus may scroll: then the row goes along
  document.addEventListener('scroll', () => { if (at && at === document.activeElement && !tip.hidden) put(); else leave(); },
    {passive: true});

  // what is hidden and shown
  const press = (button, on) => button.setAttribute('aria-pressed', String(on));
  for (const button of all('[data-toggle]'))
    button.onclick = () => press(button, document.body.classList.toggle(button.dataset.toggle));
  for (const button of all('[data-verdict]'))
    button.onclick = () => {
      const on = button.getAttribute('aria-pressed') !== 'true';
      press(button, on);
      for (const row of all('tr.v-' + button.dataset.verdict)) row.hidden = !on;
    };

  // an address inside something folded opens it
  const open = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target && target.parentElement; part; part = part.parentElement)
      if (part.tagName === 'DETAILS') part.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener('hashchange', open);
  open();
  addEventListener('beforeprint', () => { for (const part of all('details')) part.open = true; });
})();
