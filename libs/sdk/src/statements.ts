import { errorOf, type Cancellable, type HttpAnswer, type HttpClient } from './http.js';
import type * as Api from './types.js';

/** The maximum number of entries of a page. */
const PAGE = 100;

export interface StatementOptions extends Cancellable {
  /** For human operators, the agent whose statement is read. */
  agentId?: string;
}

/**
 * Periods of the account's ledger, of UTC, with all their entries, newest first. A period is named as in `2026-11`,
 * `2026-Q4`, `2026` or `2026-11-03--2026-11-20`.
 */
export const statementOperations = (http: () => HttpClient) => ({
  async get(period: string, options?: StatementOptions): Promise<Api.MonthlyStatement> {
    const pages = (await allPages(http(), period, 'json', options)).map(({ json }) => json as Api.Statement);
    return { ...pages[0]!.statement, entries: pages.flatMap(({ data }) => data) };
  },

  /** The entries as CSV, with one header line. */
  async csv(period: string, options?: StatementOptions): Promise<string> {
    const [first, ...more] = (await allPages(http(), period, 'csv', options)).map(({ text }) => text);
    return [first, ...more.map((page) => page.slice(page.indexOf('\r\n') + 2))].join('');
  },
});

async function allPages(
  http: HttpClient,
  period: string,
  format: 'json' | 'csv',
  { agentId, signal }: StatementOptions = {},
): Promise<HttpAnswer[]> {
  const pages: HttpAnswer[] = [];
  for (let cursor: string | undefined; ;) {
    const query = { format, limit: PAGE, agent_id: agentId, cursor };
    const page = await http.send('GET', `/statements/${encodeURIComponent(period)}`, { query, signal });
    if (page.status !== 200) throw errorOf(page);
    pages.push(page);
    // In a CSV answer only this header contains the cursor.
    cursor = /[?&]cursor=([^&>]+)[^>]*>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
    if (cursor === undefined) return pages;
  }
}
