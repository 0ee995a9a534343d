/** One statement of docs/interface.md: a row of a table, a numbered rule, or a list of fields in prose. */
export interface ContractRow {
  /** The id by which tests refer to it: `[spec: <id>]`. */
  id: string;
  /** The headings above it, outermost first. */
  section: string[];
  /** Its text; the cells of a table are separate. */
  cells: string[];
  /** The names of the columns, for a row of a table. */
  columns: string[];
}

/** Prefixes of row names that differ from the name of their section. */
const PREFIXES: Record<string, string> = {
  'response-envelopes': 'envelope',
  'agent-profile-get-me': 'profile',
  'agent-score-scale-0-to-1000': 'score',
  'gateway-call-sequence-no-stored-state': 'call-sequence',
  'gateway-and-endpoint-management': 'gateway',
  errors: 'error',
  limits: 'limit',
};

/** Statements that are prose: the section of each and the words it begins with. */
const PROSE: { id: string; section: string; begins: string }[] = [
  { id: 'registration-result', section: 'Registration result', begins: 'user_id' },
  { id: 'category', section: 'Category', begins: 'id (uuid)' },
  { id: 'listing.read-only-fields', section: 'Listing', begins: 'Read-only fields' },
  { id: 'subscription', section: 'Subscription', begins: 'id, consumer_id' },
  { id: 'subscription.list-view', section: 'Subscription', begins: 'The list view' },
  { id: 'subscription.detail-view', section: 'Subscription', begins: 'The detail view' },
  { id: 'receipt', section: 'Receipt', begins: 'id, payment_id' },
  { id: 'receipt.detail-view', section: 'Receipt', begins: 'The detail view' },
  { id: 'gateway-result', section: 'Gateway result (HTTP 200)', begins: 'data.request_id' },
  { id: 'events.signed-request', section: 'Events', begins: '- The gateway sends a signed JSON request' },
  { id: 'versioning', section: 'Versioning', begins: '- The interface version' },
];

const SENTENCE_END = /(?<=\.)\s+(?=[A-Z])/;

/**
 * Every row of the interface, in order.
 * @throws Error when two rows have the same name, or when a statement in prose is not found.
 */
export function contractRows(markdown: string): ContractRow[] {
  const rows: ContractRow[] = [];
  let section: string[] = [];
  let columns: string[] | undefined;
  for (const line of markdown.split('\n')) {
    const heading = /^(#+) (.*)/.exec(line);
    if (heading) section = [...section.slice(0, heading[1]!.length - 1), heading[2]!];
    if (!line.startsWith('|')) columns = undefined;
    else if (columns === undefined) columns = cellsOf(line);
    else if (!/^\|[-| ]+$/.test(line)) rows.push(tableRow(section, columns, cellsOf(line)));
    const rule = /^(\d+)\. (.*)/.exec(line);
    if (rule) rows.push({ id: `${prefixOf(section)}-rule.${rule[1]}`, section, cells: [rule[2]!], columns: [] });
    rows.push(...proseRows(section, line));
  }
  const ids = rows.map(({ id }) => id);
  const repeated = ids.filter((id, index) => ids.indexOf(id) !== index);
  if (repeated.length > 0) throw new Error(`the interface has more than one row named ${repeated.join(', ')}`);
  const lost = PROSE.filter(({ id }) => !ids.includes(id));
  if (lost.length > 0)
    throw new Error(`the interface does not say any more, where it did: ${lost.map(({ id }) => id).join(', ')}`);
  return rows;
}

function tableRow(section: string[], columns: string[], cells: string[]): ContractRow {
  return { id: idOf(section, cells), section, columns, cells };
}

function idOf(section: string[], cells: string[]): string {
  const [first = '', second = '', , fourth = ''] = cells;
  if (/^(GET|POST|PUT|PATCH|DELETE) \//.test(first)) return first;
  const prefix = prefixOf(section);
  if (section[1] === 'States and transitions')
    return `${prefix}-state.${slug(first)}-to-${slug(fourth)}${second.includes('/verify') ? '-by-verify' : ''}`;
  if (prefix === 'error') return `error.${[first, second].filter(Boolean).join(' ')}`;
  if (prefix === 'gateway') return `gateway.${slug(first.replace(/^Headers /, 'Header '))}`;
  return `${prefix}.${slug(first)}`;
}

function proseRows(section: string[], line: string): ContractRow[] {
  return PROSE.filter((prose) => prose.section === section.at(-1)).flatMap(({ id, begins }) => {
    if (line.startsWith('|')) return [];
    const sentences = line.startsWith('- ') ? [line] : line.split(SENTENCE_END);
    const found = sentences.find((sentence) => sentence.startsWith(begins));
    return found === undefined ? [] : [{ id, section, cells: [found.replace(/^- /, '')], columns: [] }];
  });
}

const cellsOf = (line: string): string[] =>
  line
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim());

function prefixOf(section: string[]): string {
  const name = slug(section.at(-1) ?? '');
  return PREFIXES[name] ?? name;
}

const slug = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
