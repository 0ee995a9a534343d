import { keepPostgres } from '@market/embedded-postgres';
import { inProcessTransport } from '@market/messaging';
import { runProcess, type Environment, type RunningProcess } from '@market/runtime';
import { printBanner } from './banner.js';
import { openDataDirectory } from './data-directory.js';
import { ensureDatabase } from './ensure-database.js';
import { services } from './services.js';
import { settingsOnThisMachine } from './this-machine.js';

const EMBEDDED_POOL_SIZE = '12';

/** Every service in one process, on an embedded PostgreSQL unless DATABASE_URL names another. */
export async function startMarketplace(env: Environment): Promise<RunningProcess> {
  const startedAt = performance.now();
  const data = await openDataDirectory(env.DATA_DIR || '.data');
  const postgres = env.DATABASE_URL
    ? undefined
    : await keepPostgres({ dataDir: data.postgresDir }, () =>
        process.stderr.write('the embedded PostgreSQL ended by itself; it is started again\n'),
      );
  try {
    const databaseUrl = postgres ? await ensureDatabase(postgres, 'market') : env.DATABASE_URL;
    const settings: Environment = {
      LOG_LEVEL: 'warn',
      DATABASE_POOL_SIZE: EMBEDDED_POOL_SIZE,
      PUBLIC_URL: `http://localhost:${env.PORT || '3000'}`,
      ...settingsOnThisMachine(env),
      ...data.secrets,
      ...env,
      DATABASE_URL: databaseUrl,
    };
    const running = await runProcess(services, inProcessTransport(), settings);
    printBanner({
      settings,
      port: running.httpPort!,
      dataPath: data.path,
      embedded: postgres !== undefined,
      seconds: (performance.now() - startedAt) / 1000,
    });
    void postgres?.exited.then(() => {
      process.stderr.write('the embedded PostgreSQL cannot be started again; stopping\n');
      process.exit(1);
    });
    return {
      ...running,
      async stop() {
        await running.stop();
        await postgres?.stop();
      },
    };
  } catch (error) {
    await postgres?.stop();
    throw error;
  }
}
