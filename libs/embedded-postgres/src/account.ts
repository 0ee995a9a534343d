import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { promisify } from 'node:util';

/**
 * The environment of every program started here: found commands and English messages. Nothing of ours is passed on,
 * since the caller's environment may hold secrets and `PG*` variables.
 */
export const PROGRAM_ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

/** A user namespace in which root is `nobody`, but still may read and write what root may on disk. */
const AS_NOBODY_IN_NAMESPACE = ['unshare', '-U', '--map-user=65534', '--map-group=65534'];

/** The kernel interrupts the program, which means fast shutdown to PostgreSQL, when the process that started it dies. */
const DIES_WITH_PARENT = ['setpriv', '--pdeathsig', 'INT'];

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/** As whom, and through which wrapper commands, PostgreSQL's programs are run. */
export interface Account {
  readonly name: string;
  readonly wrapper: readonly string[];
  /** Absent: as the user who runs this process. */
  readonly ids?: UserIds;
}

export interface ProgramCall {
  readonly file: string;
  readonly args: readonly string[];
  readonly options: { env: NodeJS.ProcessEnv; uid?: number; gid?: number };
}

export function callAs(account: Account, program: string, args: readonly string[]): ProgramCall {
  const [file = program, ...rest] = [...account.wrapper, program, ...args];
  return { file, args: rest, options: { env: PROGRAM_ENVIRONMENT, ...account.ids } };
}

/** @throws Error whose message is what the program wrote last, when it can not be run or does not end with 0. */
export async function runAs(account: Account, program: string, args: readonly string[]): Promise<string> {
  const { file, args: rest, options } = callAs(account, program, args);
  try {
    return (await promisify(execFile)(file, rest, options)).stdout;
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(stderr?.trim() || message, { cause: error });
  }
}

/**
 * Finds an account under which the server runs, by asking it for its version there. PostgreSQL refuses to run as root
 * and insists on owning its data, so an existing cluster's owner decides.
 *
 * @param folder must be reachable for the account; only root has to ask.
 * @param clusterOwner of an existing cluster.
 * @returns the account and what `postgres --version` said.
 * @throws Error listing what was tried.
 */
export async function chooseAccount(
  postgres: string,
  folder: string,
  clusterOwner: UserIds | undefined,
): Promise<{ account: Account; version: string }> {
  const me = process.getuid?.();
  const accounts = me === 0 ? await accountsForRoot(postgres, clusterOwner) : [plainAccount(me, clusterOwner)];
  const failures: string[] = [];
  for (const account of accounts) {
    for (const wrapper of [[...account.wrapper, ...DIES_WITH_PARENT], account.wrapper]) {
      const candidate = { ...account, wrapper };
      try {
        return { account: candidate, version: await askVersion(candidate, postgres, me === 0 ? folder : undefined) };
      } catch (error) {
        failures.push(`  ${[account.name, ...wrapper].join(' ')}: ${(error as Error).message}`);
      }
    }
  }
  const existing = clusterOwner ? `, which belongs to uid ${clusterOwner.uid}` : '';
  throw new Error(
    `The embedded PostgreSQL can not be run here for the data below ${folder}${existing}. Tried, as:\n${failures.join('\n')}\n${adviceFor(me, clusterOwner)}`,
  );
}

function adviceFor(me: number | undefined, clusterOwner: UserIds | undefined): string {
  if (me !== 0) return 'Is the package complete? Its install script must have run (npm rebuild).';
  if (clusterOwner?.uid === 0) return 'Allow user namespaces, or give the data directory to another user (chown -R) and keep it within that one\'s reach.';
  return 'Start as a plain user, allow user namespaces, or keep the project and the data within the reach of one of these users.';
}

function plainAccount(me: number | undefined, clusterOwner: UserIds | undefined): Account {
  if (me !== undefined && clusterOwner && clusterOwner.uid !== me)
    throw new Error(
      `The database belongs to uid ${clusterOwner.uid}, but this process runs as uid ${me}. ` +
        'Start it as that user, or give this one the directory (chown -R).',
    );
  // A uid without a name, as containers like to use, is one that initdb refuses.
  return hasName() ? { name: 'this user', wrapper: [] } : { name: 'this user', wrapper: AS_NOBODY_IN_NAMESPACE };
}

async function accountsForRoot(postgres: string, clusterOwner: UserIds | undefined): Promise<Account[]> {
  const namespace: Account = { name: 'root', wrapper: AS_NOBODY_IN_NAMESPACE };
  if (clusterOwner) return [clusterOwner.uid === 0 ? namespace : accountOf(clusterOwner)];
  const installer = await stat(postgres);
  return [namespace, ...(installer.uid === 0 ? [] : [accountOf(installer)]), ...(await systemAccounts())];
}

function accountOf({ uid, gid }: UserIds): Account {
  return { name: `uid ${uid}`, wrapper: [], ids: { uid, gid } };
}

async function systemAccounts(): Promise<Account[]> {
  const users = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n').map((line) => line.split(':'));
  return ['postgres', 'nobody'].flatMap((name) => {
    const user = users.find((fields) => fields[0] === name);
    return user ? [{ name, wrapper: [], ids: { uid: Number(user[2]), gid: Number(user[3]) } }] : [];
  });
}

function askVersion(account: Account, postgres: string, folder: string | undefined): Promise<string> {
  if (folder === undefined) return runAs(account, postgres, ['--version']);
  return runAs(account, 'sh', ['-c', 'cd "$1" && exec "$2" --version', 'sh', folder, postgres]);
}

function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}
