import type { ContractRow } from './contract-rows.js';

/** An operation as the interface names it. */
export interface SpecOperation {
  /** `GET /listings/{listingId}`, below the version prefix. */
  name: string;
  /** Every HTTP status that its row names; `2xx` if the row names no success. */
  statuses: string[];
}

/** Matches an HTTP status, but not the digits of SHA-256. */
const STATUS = /(?<![\w-])[1-5]\d\d\b/g;

/** The operations of the endpoint tables, and the paid call, whose statuses are in its rules. */
export function specOperations(rows: ContractRow[]): SpecOperation[] {
  const listed = rows
    .filter(({ columns }) => columns[0] === 'Method and path')
    .map(({ cells: [name = '', auth = '', , response = ''], columns }) =>
      operation(name, auth, columns[3] === 'Response' ? response : ''),
    );
  const rules = rows
    .filter(({ id }) => id.startsWith('gateway-rule.'))
    .map(({ cells: [text = ''] }) => (text.match(/HTTP \d{3}/g) ?? []).join());
  return [...listed, operation('POST /gateway/{listingId}', 'key', rules.join())];
}

function operation(name: string, auth: string, response: string): SpecOperation {
  const named = response.match(STATUS) ?? [];
  const success = named.some((status) => status.startsWith('2')) ? [] : ['2xx'];
  const unauthorized = auth === 'none' ? [] : ['401'];
  return { name, statuses: [...new Set([...success, ...named, ...unauthorized])].sort() };
}

/** Paths that differ only in the names of their parameters are the same path. */
export const routeKey = (operationName: string): string => operationName.replaceAll(/\{\w+\}|:\w+/g, '{}');
