import { startFailure } from './start-failure.js';

const failed = (message: string, facts: object): Error => Object.assign(new Error(message), facts);

describe('why a process did not start', () => {
  it.each([
    [
      'a taken port',
      failed('listen EADDRINUSE', { code: 'EADDRINUSE', syscall: 'listen', address: '127.0.0.1', port: 3000 }),
      {},
      'Port 3000 of 127.0.0.1 is in use: stop the process that listens there, or set PORT to a free port.',
    ],
    [
      'a taken internal port',
      failed('listen EADDRINUSE', { code: 'EADDRINUSE', syscall: 'listen', address: '127.0.0.1', port: 9000 }),
      { INTERNAL_PORT: '9000' },
      'Port 9000 of 127.0.0.1 is in use: stop the process that listens there, or set INTERNAL_PORT to a free port.',
    ],
    [
      'a port of the system',
      failed('listen EACCES', { code: 'EACCES', syscall: 'listen', address: '0.0.0.0', port: 80 }),
      {},
      'This process cannot listen on port 80 of 0.0.0.0 (EACCES): set PORT, and HOST where the address is wrong.',
    ],
    [
      'a data directory of somebody else',
      failed("EACCES: permission denied, mkdir '/srv/data'", { code: 'EACCES', syscall: 'mkdir', path: '/srv/data' }),
      {},
      "EACCES: permission denied, mkdir '/srv/data': set DATA_DIR to a directory that this user may write to.",
    ],
    [
      'an absent server',
      new AggregateError([
        failed('connect ECONNREFUSED 127.0.0.1:5999', { code: 'ECONNREFUSED', syscall: 'connect', port: 5999 }),
      ]),
      { DATABASE_URL: 'postgres://127.0.0.1:5999/market' },
      'connect ECONNREFUSED 127.0.0.1:5999: nothing answers there; check DATABASE_URL.',
    ],
    [
      'a role that may do nothing',
      failed('permission denied to create role', { code: '42501' }),
      {},
      'PostgreSQL refuses: permission denied to create role. ' +
        'To go on, let the role of DATABASE_URL create roles and schemas, ' +
        'or run `market-admin migrate` as one that may and start with MIGRATE_ON_START=false.',
    ],
    [
      'a certificate that nobody vouches for',
      failed('self-signed certificate in certificate chain', { code: 'SELF_SIGNED_CERT_IN_CHAIN' }),
      {},
      'DATABASE_URL: the certificate of PostgreSQL is not accepted (self-signed certificate in certificate chain); ' +
        'name the file of its authority in NODE_EXTRA_CA_CERTS, or in the URL as sslrootcert',
    ],
    ['a reason of its own', new Error('Another process owns .data'), {}, 'Another process owns .data'],
  ])('names %s and the way out, without a stack', (_what, error, env, sentence) =>
    expect(startFailure(error, env)).toBe(sentence),
  );

  it('shows the stack of a programming error', () =>
    expect(startFailure(new TypeError('x is undefined'), {})).toContain('at '));
});
