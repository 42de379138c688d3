// --- one client, with all there is.

const verbs = { isolate: 'Isolate', release: 'Release' };

function showDetail(d, steering) {
  const place = document.getElementById('detail');
  if (place.dataset.id === d.id && selecting(place)) return; // who copies something must not lose it
  place.dataset.id = d.id;
  const focused = document.activeElement?.id;
  const scrolled = new Map([...place.querySelectorAll('.scroll')].map((e) => [e.id, e.scrollLeft]));
  place.replaceChildren(...[
    make('div', { class: 'head' },
      make('div', {}, make('a', { class: 'back', href: '#' }, '← All clients'),
        make('h2', {}, d.client, d.authority && make('span', { class: 'authority' }, ` ${d.authority}`))),
      steering && hasBreaker(d) && steeringButtons(d)),
    findings(d.findings),
    plots(d),
    cards(d),
    d.endpoints && table('Endpoints', ['Endpoint', 'Circuit breaker', 'Asked to be left alone', 'Rate limit'], d.endpoints.map(endpointRow)),
    table('Last refusals', ['Last', 'How often', 'What', 'Why', 'What to do'], d.refusals.map((r) => refusalRow(r, d.now)),
      'Nothing was refused since the history began.'),
    hasBreaker(d) && table('Changes of the circuit breaker', ['When', 'Change', 'Why'], d.changes.map((c) => changeRow(c, d.now)),
      'It has not changed since the history began.'),
  ].filter(Boolean));
  place.hidden = false;
  if (focused) document.getElementById(focused)?.focus();
  for (const [id, left] of scrolled) {
    const table = document.getElementById(id);
    if (table) table.scrollLeft = left;
  }
}

function selecting(place) {
  const s = getSelection();
  return s !== null && !s.isCollapsed && place.contains(s.anchorNode);
}

const hasBreaker = (d) => Boolean(d.breaker || d.endpoints?.some((e) => e.breaker));

function isolated(d) {
  return [d, ...(d.endpoints || [])].some((x) => x.breaker?.state === 'isolated');
}

function steeringButtons(d) {
  const action = isolated(d) ? 'release' : 'isolate';
  return make('button', { type: 'button', id: 'steer', onclick: () => steer(action, d.client) }, `${verbs[action]} the circuit breaker`);
}

function findings(all) {
  return make('ul', { class: 'findings' }, all.map((f) => make('li', { class: f.level },
    make('span', { class: `level ${f.level}` }, levels[f.level]),
    make('b', {}, `${f.verdict}: `), f.because, f.next && ` ${f.next}`, f.advice && make('div', { class: 'advice' }, f.advice))));
}

function plots(d) {
  if (!d.series.calls) return undefined;
  const s = d.series;
  const good = s.attempts.map((n, i) => Math.max(0, n - s.failed[i]));
  return make('div', { class: 'plots' },
    figure('Attempts', [
      { name: 'failed', class: 'bad', series: s.failed, striped: true },
      { name: 'succeeded', class: 'base', series: good },
    ], d.stepNs),
    figure('Retries', [
      { name: 'made', class: 'made', series: s.retries },
      { name: 'denied', class: 'denied', series: s.denied, striped: true },
    ], d.stepNs),
    figure('Calls', [
      { name: 'ended', class: 'base', series: s.calls },
      { name: 'rejected', class: 'bad', series: s.rejected, striped: true },
    ], d.stepNs));
}

function card(title, value, bar, ...small) {
  return make('div', {}, make('h3', {}, title), make('div', { class: 'value' }, value), bar,
    small.filter(Boolean).map((s) => make('small', {}, s)));
}

function cards(d) {
  const { budget: b, breaker: c, concurrency: p, rateLimit: r, settings: s } = d;
  return make('div', { class: 'cards' },
    make('div', {}, make('h3', {}, 'Retries'), make('div', { class: 'value' }, s.retry)),
    b && (b.phase === 'below_minimum'
      ? card('Retry budget', 'not in force', undefined, `${plural(b.requests, 'call', 'calls')} and ${plural(b.retries, 'retry', 'retries')} in its window: too few calls`, s.budget)
      : card('Retry budget', `${number.format(b.retries)} of ${number.format(b.allowance)} used`,
        meter('Retry budget', b.retries, b.allowance, b.phase === 'exhausted'), b.phase === 'exhausted' && 'exhausted', s.budget)),
    c && (d.endpoints ? card('Circuit breaker', 'one an endpoint', undefined, s.breaker)
      : card('Circuit breaker', breakerState(c), undefined, counted(c), s.breaker)),
    p && card('Permits', `${number.format(p.inUse)} of ${number.format(p.permits)} in use`,
      meter('Permits', p.inUse, p.permits, p.inUse >= p.permits), p.queued > 0 && `${plural(p.queued, 'call waits', 'calls wait')}`, s.concurrency),
    r && !d.endpoints && card('Rate limit', `${number.format(r.available)} of ${number.format(r.burst)} tokens left`,
      meter('Tokens', Math.max(0, r.available), r.burst, r.available < 1)));
}

const breakerState = (c) => (c.retryAfterNs > 0 ? `${c.state}, ${span(c.retryAfterNs)} left` : c.state);
const counted = (c) => c.requests === 0 ? 'no attempt in its window' : `${number.format(c.failures)} of ${plural(c.requests, 'attempt', 'attempts')} in its window failed`;

function table(title, heads, rows, nothing) {
  const heading = make('h3', { class: 'title' }, title);
  if (!rows.length) return make('div', {}, heading, make('p', { class: 'quiet' }, nothing));
  return make('div', {}, heading, make('div', { class: 'scroll', id: title.replaceAll(' ', '-'), tabindex: 0, role: 'group', 'aria-label': title }, make('table', {},
    make('thead', {}, make('tr', {}, heads.map((h) => make('th', { scope: 'col' }, h)))), make('tbody', {}, rows))));
}

function row(head, ...cells) {
  return make('tr', {}, make('th', { scope: 'row' }, head), cells.map((c) => make('td', {}, c)));
}

function endpointRow(e) {
  return row(e.endpoint,
    e.breaker ? [breakerState(e.breaker), make('div', { class: 'quiet' }, counted(e.breaker))] : 'off',
    e.throttledNs > 0 ? `for ${span(e.throttledNs)}` : 'no',
    e.rateLimit ? `${number.format(e.rateLimit.available)} of ${number.format(e.rateLimit.burst)} tokens left` : 'off');
}

function refusalRow(r, now) {
  const about = [r.endpoint, r.method, r.method && (r.status ? `status ${r.status}` : 'no answer')].filter(Boolean).join(', ');
  const why = r.why[0].toUpperCase() + r.why.slice(1);
  return row(when(r.last, now), plural(r.count, 'time', 'times'),
    [r.what, about && make('div', { class: 'quiet' }, about)],
    [`${why}.`, make('div', { class: 'quiet' }, r.reason, r.retryAfterNs > 0 && `, for ${span(r.retryAfterNs)} more`)], r.advice);
}

function changeRow(c, now) {
  const why = c.byHand ? 'by hand'
    : c.to === 'open' && c.requests > 0 ? `${number.format(c.failures)} of ${plural(c.requests, 'attempt', 'attempts')} had failed, open for ${span(c.breakNs)}`
    : c.to === 'open' ? `the probe failed, open for ${span(c.breakNs)}`
    : c.to === 'half-open' ? 'the break was over, a probe was sent'
    : 'the probe succeeded';
  return row(when(c.time, now), [c.endpoint && `${c.endpoint}: `, `${c.from} → ${c.to}`], why);
}

// when is a point in time, on the clock and as how long ago.
function when(time, now) {
  const at = new Date(time);
  const ago = Math.max(0, new Date(now) - at);
  return make('span', {}, at.toLocaleTimeString('en-GB'), make('div', { class: 'quiet' }, ago < 1000 ? 'just now' : `${span(ago * 1e6)} ago`));
}
