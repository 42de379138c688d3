// --- the list of clients, and what is asked for.

const levels = { trouble: 'Trouble', watch: 'Watch', fine: 'Fine', idle: 'Idle' };
const limit = 50;
const every = 2000;
const asked = { search: '', level: '', offset: 0 };
const wide = matchMedia('(min-width: 1100px)');
const byId = (id) => document.getElementById(id);

let chosen = ''; // the client that is shown though nobody has asked for one: the worst
let timer;
let paused = false;
let turn = 0; // of the requests: an answer that was overtaken is dropped

const wanted = () => decodeURIComponent(location.hash.slice(1));

// address is where the page came from, with what it was given there (a token, maybe) and what is asked for.
function address() {
  const query = new URLSearchParams(location.search);
  const detail = wanted() || (wide.matches ? chosen : '');
  for (const [name, value] of Object.entries({ format: 'json', limit, detail, ...asked })) {
    if (value) query.set(name, value);
  }
  return `${location.pathname}?${query}`;
}

async function poll() {
  clearTimeout(timer);
  const mine = ++turn;
  try {
    const answer = await fetch(address(), { headers: { Accept: 'application/json' } });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const doc = await answer.json();
    if (mine !== turn) return;
    show(doc);
    tell(`${paused ? 'Paused' : 'Live'}, ${new Date(doc.time).toLocaleTimeString('en-GB')}`);
    if (wide.matches && !wanted() && !doc.detail && chosen) {
      poll();
      return;
    }
  } catch (e) {
    if (mine !== turn) return;
    tell(`No answer (${e.message}); what is shown is old.`, true);
  }
  if (!paused && !document.hidden) timer = setTimeout(poll, every);
}

function tell(text, lost = false) {
  const state = byId('state');
  if (state.textContent !== text) state.textContent = text;
  byId('live').classList.toggle('lost', lost);
}

function show(doc) {
  if (!wanted()) chosen = doc.states[0]?.id || '';
  showLevels(doc);
  showRows(doc);
  showPages(doc);
  const detail = doc.detail;
  document.body.classList.toggle('opened', Boolean(wanted() && detail));
  document.body.classList.toggle('chosen', Boolean(detail));
  if (detail) showDetail({ ...detail, stepNs: doc.stepNs }, doc.steering);
  else byId('detail').hidden = true;
}

function showLevels(doc) {
  const place = byId('levels');
  const all = [['', `All ${number.format(doc.total)}`], ...Object.entries(levels).map(([l, word]) => [l, `${word} ${number.format(doc.levels[l] || 0)}`])];
  if (!place.children.length) {
    place.append(...all.map(([l]) => make('button', { type: 'button', 'data-level': l, onclick: () => ask({ level: l }) })));
  }
  all.forEach(([l, word], i) => {
    const button = place.children[i];
    if (button.textContent !== word) button.textContent = word;
    button.setAttribute('aria-pressed', String(asked.level === l));
  });
}

// showRows brings the rows into the order that they came in. Those that stay keep their elements, and with them the focus.
function showRows(doc) {
  const place = byId('rows');
  const old = new Map([...place.children].map((r) => [r.dataset.id, r]));
  const current = wanted() || chosen;
  doc.states.forEach((s, i) => {
    const r = old.get(s.id) || newRow(s);
    old.delete(s.id);
    if (place.children[i] !== r) place.insertBefore(r, place.children[i] || null);
    updateRow(r, s);
    r.setAttribute('aria-current', String(s.id === current));
  });
  for (const r of old.values()) r.remove();
  byId('none').hidden = doc.states.length > 0;
}

// newRow says the roles of its parts, which browsers forget where a narrow list is laid out as blocks.
function newRow(s) {
  const open = () => { location.hash = s.id; };
  return make('tr', { role: 'row', 'data-id': s.id, onclick: open },
    make('th', { role: 'rowheader', scope: 'row' },
      make('a', { href: `#${s.id}` }, s.client, s.authority && make('span', { class: 'authority' }, ` ${s.authority}`)),
      make('span', { class: 'why' })),
    make('td', { role: 'cell', class: 'plot' }),
    ['calls', 'retries', 'denied', 'rejected'].map((label) => make('td', { role: 'cell', class: 'n', 'data-label': label })));
}

function updateRow(r, s) {
  const [head, plot, ...figures] = r.children;
  const said = JSON.stringify(s.diagnosis);
  if (r.dataset.said !== said) {
    r.dataset.said = said;
    head.lastChild.replaceChildren(
      make('span', { class: `level ${s.diagnosis.level}` }, levels[s.diagnosis.level]),
      make('b', {}, `${s.diagnosis.verdict}: `), s.diagnosis.because);
  }
  const m = s.lastMinute;
  [m.calls, m.retries, m.denied, m.rejected].forEach((n, i) => {
    const text = number.format(n);
    if (figures[i].textContent !== text) figures[i].textContent = text;
  });
  if (s.plots) drawRow(plot, r, s.plots);
}

function drawRow(place, r, { attempts, retries }) {
  const drawn = `${attempts} ${retries}`;
  if (r.dataset.drawn === drawn) return;
  r.dataset.drawn = drawn;
  const firsts = attempts.map((n, i) => Math.max(0, n - retries[i]));
  const text = `${plural(sum(attempts), 'attempt', 'attempts')} in ten minutes, ${number.format(sum(retries))} of them retries`;
  place.replaceChildren(bars([{ class: 'base', series: firsts }, { class: 'made', series: retries }], 240, 30));
  place.title = text;
}

function showPages(doc) {
  byId('pages').hidden = doc.matching <= limit;
  byId('range').textContent = `${number.format(doc.offset + 1)} to ${number.format(doc.offset + doc.states.length)} of ${number.format(doc.matching)}`;
  byId('previous').disabled = doc.offset === 0;
  byId('next').disabled = doc.offset + limit >= doc.matching;
}

// --- what the reader does.

function ask(changes) {
  Object.assign(asked, { offset: 0 }, changes);
  poll();
}

async function steer(action, client) {
  const words = { isolate: 'hold its circuit open, so that nothing is sent', release: 'close its circuit' };
  if (!confirm(`${verbs[action]} "${client}": ${words[action]}?`)) return;
  try {
    const answer = await fetch(address(), {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ action, client }),
    });
    if (!answer.ok) throw new Error((await answer.text()).trim());
    poll();
  } catch (e) {
    tell(`That did not work: ${e.message}`, true);
  }
}

byId('filter').addEventListener('submit', (e) => e.preventDefault());
byId('search').addEventListener('input', (e) => ask({ search: e.target.value.trim() }));
byId('previous').addEventListener('click', () => ask({ offset: Math.max(0, asked.offset - limit) }));
byId('next').addEventListener('click', () => ask({ offset: asked.offset + limit }));
byId('pause').addEventListener('click', (e) => {
  paused = !paused;
  e.target.setAttribute('aria-pressed', String(paused));
  poll();
});
document.addEventListener('visibilitychange', () => (document.hidden ? clearTimeout(timer) : poll()));
window.addEventListener('hashchange', poll);
wide.addEventListener('change', poll);
poll();
