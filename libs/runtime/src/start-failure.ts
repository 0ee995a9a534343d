import type { Environment } from './define-config.js';

const PROGRAMMING_ERRORS = [TypeError, ReferenceError, RangeError, SyntaxError];
const UNUSABLE_PATH = ['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST', 'ENOSPC'];
/** Codes of a server's certificate that Node does not accept. */
const UNTRUSTED = /CERT|VERIFY_LEAF|^ERR_TLS/;
const UNREACHABLE = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'ECONNRESET'];
/** By SQLSTATE: what an operator can do if PostgreSQL refuses the connection. */
const POSTGRES_REFUSALS: Record<string, string> = {
  '28000': 'DATABASE_URL must name a role that may log in',
  '28P01': 'DATABASE_URL must carry the password of its role',
  '3D000': 'create the database that DATABASE_URL names',
  '42501':
    'let the role of DATABASE_URL create roles and schemas, or run `market-admin migrate` as one that may and start with ' +
    'MIGRATE_ON_START=false',
  '53300': 'raise max_connections of PostgreSQL or lower DATABASE_POOL_SIZE',
};

interface SystemError extends Error {
  code?: string;
  syscall?: string;
  path?: string;
  address?: string;
  port?: number;
}

/** Returns why a process did not start and what to do about it. The stack is added only for unexpected errors. */
export function startFailure(error: unknown, env: Environment): string {
  if (error instanceof AggregateError && error.errors.length > 0) return startFailure(error.errors[0], env);
  if (!(error instanceof Error) || PROGRAMMING_ERRORS.some((kind) => error instanceof kind))
    return error instanceof Error ? error.stack! : String(error);
  const { code = '', syscall, path, address, port, message } = error as SystemError;
  if (syscall === 'listen') {
    const variable = String(port) === env.INTERNAL_PORT ? 'INTERNAL_PORT' : 'PORT';
    if (code === 'EADDRINUSE')
      return `Port ${port} of ${address} is in use: stop the process that listens there, or set ${variable} to a free port.`;
    return `This process cannot listen on port ${port} of ${address} (${code}): set ${variable}, and HOST where the address is wrong.`;
  }
  if (path !== undefined && UNUSABLE_PATH.includes(code))
    return `${message}: set DATA_DIR to a directory that this user may write to.`;
  if (UNREACHABLE.includes(code)) return `${message}: nothing answers there; check ${variableNaming(port, env)}.`;
  // Errors of NATS name their variable themselves, and Redis is not needed for a start.
  if (UNTRUSTED.test(code))
    return (
      `DATABASE_URL: the certificate of PostgreSQL is not accepted (${message}); name the file of its authority in ` +
      'NODE_EXTRA_CA_CERTS, or in the URL as sslrootcert'
    );
  const remedy = POSTGRES_REFUSALS[code];
  return remedy === undefined ? message : `PostgreSQL refuses: ${message}. To go on, ${remedy}.`;
}

/** Returns the variable whose URL has this port, among those of servers. */
function variableNaming(port: number | undefined, env: Environment): string {
  const names = Object.keys(env).filter((name) => /(DATABASE|NATS|REDIS)_URL$/.test(name));
  return (
    names.find((name) => port !== undefined && env[name]?.includes(`:${port}`)) ??
    'DATABASE_URL, NATS_URL and REDIS_URL'
  );
}
