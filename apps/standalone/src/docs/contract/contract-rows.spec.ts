import { contractRows } from './contract-rows.js';
import { specOperations } from './spec-operations.js';
import { testsIn } from './test-tags.js';

const HEAD = '# Interface\n\n## Resources and their fields\n\n';

/** The statements that the interface makes only in prose. Every text in these tests contains them. */
const PROSE = `
### Registration result\n\nuser_id.\n
### Category\n\nid (uuid).\n
### Subscription\n\nid, consumer_id. The list view adds a. The detail view adds b.\n
### Receipt\n\nid, payment_id. The detail view adds c.\n
### Gateway result (HTTP 200)\n\ndata.request_id.\n
## Events\n\n- The gateway sends a signed JSON request.\n
## Versioning\n\n- The interface version is 1.\n
## More\n\n### Listing\n\nRead-only fields: id.\n`;

const idsOf = (text: string): string[] => contractRows(HEAD + text + PROSE).map(({ id }) => id);

describe('the rows of the interface', () => {
  it.each([
    [
      'a field by its section',
      '### API key\n\n| Field | Type |\n|---|---|\n| key_prefix | string |',
      'api-key.key-prefix',
    ],
    [
      'an operation by itself',
      '### Identity\n\n| Method and path | Auth |\n|---|---|\n| GET /me/wallets/{id} | key |',
      'GET /me/wallets/{id}',
    ],
    [
      'a rule by its number',
      '### Gateway and endpoint management\n\nRules:\n1. Without the id: HTTP 402.',
      'gateway-rule.1',
    ],
    [
      'an error by status and code',
      '## Errors\n\n| HTTP | code | Condition |\n|---|---|---|\n| 429 | RATE_LIMITED | x |',
      'error.429 RATE_LIMITED',
    ],
    [
      'an error without a code by its status',
      '## Errors\n\n| HTTP | code | Condition |\n|---|---|---|\n| 410 | | x |',
      'error.410',
    ],
    [
      'a move by its ends',
      '## States and transitions\n\n### Listing\n\n' +
        '| State | Trigger | Condition | Next state | Also |\n|---|---|---|---|---|\n' +
        '| (none) | POST /listings | | draft or active | |',
      'listing-state.none-to-draft-or-active',
    ],
    [
      'two headers by both',
      '### Gateway and endpoint management\n\n| Item | Rule |\n|---|---|\n| Headers X-A, X-B | optional |',
      'gateway.header-x-a-x-b',
    ],
  ])('name %s', (_what, text, id) => {
    expect(idsOf(text)).toContain(id);
  });

  it('have names of their own, and prose where it was', () => {
    expect(() => idsOf('## Limits\n\n| Limit | Value |\n|---|---|\n| page | 1 |\n| page | 2 |')).toThrow(
      'more than one row named limit.page',
    );
    expect(() => contractRows(HEAD)).toThrow('registration-result');
  });

  it('tell the statuses an operation answers with', () => {
    const table =
      '| Method and path | Auth | Request | Response |\n|---|---|---|---|\n' +
      '| POST /register | none | limit 200 | 201 data; 400, 409, 429 |\n' +
      '| GET /me | key | none | profile; 401 |\n' +
      '| GET /ledger | key | none | entries |';
    const [register, me, ledger, call] = specOperations(
      contractRows(
        `${HEAD}### Identity\n\n${table}\n\n### Gateway and endpoint management\n\n1. HTTP 402, body.\n2. HTTP 200.\n${PROSE}`,
      ),
    );
    expect([register!.statuses, me!.statuses, ledger!.statuses, call!.statuses]).toEqual([
      ['201', '400', '409', '429'],
      ['2xx', '401'],
      ['2xx', '401'],
      ['200', '401', '402'],
    ]);
  });
});

describe('the tags of tests', () => {
  /** Builds the tag from parts, so that this file contains no tags itself. */
  const tag = (ids: string): string => `[${'spec'}: ${ids}]`;

  it('are the end of a title', () => {
    const titles = [
      `it('keeps a name ${tag('listing.name, limit.listing-name')}', x)`,
      `it.each(rows)("says '%s' ${tag('error.410')}", x)`,
      `it('is nobody\\'s ${tag('GET /me')}', x)`,
      "it('proves nothing', x)",
    ];
    expect(testsIn('a.spec.ts', titles.join('\n'), [])).toEqual([
      { file: 'a.spec.ts', title: 'keeps a name', proves: ['listing.name', 'limit.listing-name'] },
      { file: 'a.spec.ts', title: "says '%s'", proves: ['error.410'] },
      { file: 'a.spec.ts', title: "is nobody's", proves: ['GET /me'] },
    ]);
  });

  it('are the end of a title that goes on in the next line', () => {
    const [one, two] = tag('listing.name, GET /me').split('GET');
    expect(testsIn('a.spec.ts', `it(\n  'keeps a name ' +\n    '${one}' +\n    'GET${two}',\n  x,\n)`, [])).toEqual([
      { file: 'a.spec.ts', title: 'keeps a name', proves: ['listing.name', 'GET /me'] },
    ]);
  });

  it('stand nowhere else', () => {
    expect(() => testsIn('a.spec.ts', `// see ${tag('listing.name')}`, [])).toThrow('a.spec.ts');
  });

  it('are filled in by the cases of the table before', () => {
    const source = [
      "const cases = [['sla', 'listing.sla, limit.sla'], ['GET /me', 'no.row']];",
      `for (const [field, rows] of cases) it(\`\${field} is kept ${tag('\${rows}')}\`, x)`,
      "const links = [['logo', 'listing.logo']];",
      `for (const [field, row] of links) it(\`\${field} is a link ${tag('\${row}')}\`, x)`,
    ].join('\n');
    const rows = ['listing.sla', 'limit.sla', 'listing.logo', 'GET /me'].map((id) => ({ id }));
    expect(testsIn('a.spec.ts', source, rows)).toEqual([
      { file: 'a.spec.ts', title: '${field} is kept', proves: ['listing.sla', 'limit.sla'] },
      { file: 'a.spec.ts', title: '${field} is a link', proves: ['listing.logo'] },
    ]);
  });
});
