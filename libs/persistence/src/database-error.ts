import { ContentionError, UnavailableError } from '@market/kernel';

/** Serialization failure and deadlock. The transaction was rolled back and may be retried. */
const RETRYABLE = new Set(['40001', '40P01']);

/** PostgreSQL error classes and socket errors that mean that the server is unavailable, or takes no writes or logins. */
const UNAVAILABLE =
  /^(08...|57P0[1-5]|53[0-4]..|55P03|57014|25006|28...|3D000|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/;
/** TypeORM releases a query runner by itself when its connection broke between two statements. */
const UNAVAILABLE_TEXTS = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'Client was closed',
  'Client has encountered a connection error',
  'Query runner already released',
];

export const codeOf = (error: unknown): string | undefined => (error as { code?: string } | null)?.code;

export const isRetryable = (error: unknown): boolean => RETRYABLE.has(codeOf(error) ?? '');

/** True for a violation of this unique constraint or index. */
export const isUniqueViolation = (error: unknown, constraint: string): boolean =>
  isViolation('23505', error, constraint);

/** True for a violation of this foreign key. */
export const isForeignKeyViolation = (error: unknown, constraint: string): boolean =>
  isViolation('23503', error, constraint);

function isViolation(code: string, error: unknown, constraint: string): boolean {
  const cause = (error as { driverError?: unknown }).driverError ?? error;
  return codeOf(cause) === code && (cause as { constraint?: string }).constraint === constraint;
}

/** Names errors of an unreachable database `UnavailableError` and lost retries `ContentionError`; others stay as they are. */
export function asUnavailable(error: unknown): unknown {
  if (isRetryable(error)) return new ContentionError('PostgreSQL', { cause: error });
  const text = error instanceof Error ? error.message : '';
  if (UNAVAILABLE.test(codeOf(error) ?? '') || UNAVAILABLE_TEXTS.some((part) => text.includes(part)))
    return new UnavailableError('PostgreSQL', { cause: error, isReported: true });
  return error;
}
