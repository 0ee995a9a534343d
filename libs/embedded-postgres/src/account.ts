import { execFile } from 'node:child_process';
import { userInfo } from 'node:os';
import { promisify } from 'node:util';

/**
 * The environment of every program that is started here: a path to find commands, and English messages. The environment
 * of this process is not passed on, since it may contain secrets and `PG*` variables.
 */
const PROGRAM_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/** Runs a program in a user namespace in which root is `nobody` but may still read and write the same files as root. */
const AS_NOBODY_IN_NAMESPACE = ['unshare', '-U', '--map-user=65534', '--map-group=65534'];

/** Lets the kernel send SIGINT, PostgreSQL's signal for a fast shutdown, when the parent of the program dies. */
const PARENT_DEATH_SIGNAL = ['setpriv', '--pdeathsig', 'INT'];

const NOBODY: UserIds = { uid: 65534, gid: 65534 };

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/** The user and the wrapper commands with which the programs of PostgreSQL are run. */
export interface Account {
  readonly wrapper: readonly string[];
  /** The user of this process by default. */
  readonly ids?: UserIds;
}

export function callAs({ wrapper, ids }: Account, program: string, args: readonly string[]) {
  const [file = program, ...rest] = [...wrapper, program, ...args];
  return { file, args: rest, options: { env: PROGRAM_ENVIRONMENT, uid: ids?.uid, gid: ids?.gid } };
}

/** @throws Error with what the program wrote to stderr, when it cannot be run or its exit code is not 0. */
export async function runAs(account: Account, program: string, args: readonly string[]): Promise<void> {
  const { file, args: rest, options } = callAs(account, program, args);
  try {
    await promisify(execFile)(file, rest, options);
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(stderr?.trim() || message, { cause: error });
  }
}

/**
 * Finds an account under which the server can run, by running `postgres --version` under each. PostgreSQL refuses to
 * run as root and must own its data; so when this process is root, an existing cluster runs as its owner.
 *
 * @param folder is a directory that the account must be able to enter.
 * @throws Error that lists what was tried.
 */
export async function chooseAccount(
  postgres: string,
  folder: string,
  clusterOwner: UserIds | undefined,
): Promise<Account> {
  if (process.platform === 'win32') return { wrapper: [] };
  const failures: string[] = [];
  for (const { wrapper, ids } of candidates(clusterOwner)) {
    for (const account of [
      { wrapper: [...wrapper, ...PARENT_DEATH_SIGNAL], ids },
      { wrapper, ids },
    ]) {
      try {
        await runAs(account, 'sh', ['-c', 'cd "$1" && exec "$2" --version', 'sh', folder, postgres]);
        return account;
      } catch (error) {
        failures.push(
          `  uid ${ids?.uid ?? process.getuid?.()}, ${account.wrapper.join(' ') || 'directly'}: ${(error as Error).message}`,
        );
      }
    }
  }
  const existing = clusterOwner ? `, which belongs to uid ${clusterOwner.uid}` : '';
  throw new Error(
    `The embedded PostgreSQL cannot be run for the data below ${folder}${existing}. Tried, as:\n${failures.join('\n')}\n` +
      'Start as a plain user who owns the data, or allow user namespaces, ' +
      'or keep project and data within the reach of one of these users. ' +
      'Where the program itself is missing, the install script of its package has not run (npm rebuild).',
  );
}

function candidates(clusterOwner: UserIds | undefined): Account[] {
  // initdb refuses a uid without a name, which is common in containers.
  if (process.getuid?.() !== 0) return [{ wrapper: hasName() ? [] : AS_NOBODY_IN_NAMESPACE }];
  const another = { wrapper: [], ids: clusterOwner ?? NOBODY };
  return clusterOwner && clusterOwner.uid !== 0
    ? [another]
    : [{ wrapper: AS_NOBODY_IN_NAMESPACE }, ...(clusterOwner ? [] : [another])];
}

function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}
