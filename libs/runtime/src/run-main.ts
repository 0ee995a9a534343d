import type { ServiceName } from '@market/contracts';
import { natsTransport, type NatsTransportOptions, type Transport } from '@market/messaging';
import { ConfigError, type Environment } from './define-config.js';
import type { ServiceDefinition } from './define-service.js';
import { natsConfig } from './nats-config.js';
import { platformConfig } from './platform-config.js';
import { runProcess, type RunningProcess } from './run-process.js';
import { settingsOf } from './preset.js';
import { startFailure } from './start-failure.js';

/**
 * Creates the distributed bus from the environment. A process that runs several services may have a seed for each:
 * `<SERVICE>_NATS_NKEY_SEED`.
 */
export const natsTransportFromEnv = (env: Environment): Transport => natsTransport(natsOptionsFromEnv(env));

/** @throws ConfigError */
export function natsOptionsFromEnv(env: Environment): (service: ServiceName) => NatsTransportOptions {
  const problems: string[] = [];
  const config = natsConfig.parse(env, problems);
  if (problems.length > 0) throw new ConfigError(problems);
  return (service) => {
    const nkeySeed = env[`${service.toUpperCase().replaceAll('-', '_')}_NATS_NKEY_SEED`] ?? config.nkeySeed;
    if (nkeySeed !== undefined && service !== 'api-gateway' && config.edgeKey === undefined)
      throw new ConfigError([`NATS_EDGE_KEY: is required with a seed (${natsConfig.variables['edgeKey']!.help})`]);
    return {
      servers: config.servers.split(',').map((server) => server.trim()),
      nkeySeed,
      edgeKey: config.edgeKey,
      stream: {
        replicas: config.streamReplicas,
        maxBytes: config.streamMaxBytes,
        maxAgeSeconds: config.streamMaxAgeHours * 3_600,
      },
      drainMs: platformConfig.parse(env, []).stopTimeoutSeconds * 1_000,
    };
  };
}

/**
 * Runs a process until it receives a signal to stop. The environment includes secrets read from files. If the process
 * cannot start, this prints the reason and exits with 1.
 */
export async function runMain(start: (env: Environment) => Promise<RunningProcess>): Promise<void> {
  try {
    const running = await start(settingsOf(process.env));
    let stopping = false;
    const stop = (signal: string): void => {
      if (stopping) return;
      stopping = true;
      setTimeout(() => process.exit(1), running.stopTimeoutMs).unref();
      void running.stop().then(
        () => process.exit(0),
        (error: unknown) => {
          process.stderr.write(`stopping on ${signal} failed: ${String(error)}\n`);
          process.exit(1);
        },
      );
    };
    process.on('SIGTERM', () => stop('SIGTERM'));
    process.on('SIGINT', () => stop('SIGINT'));
  } catch (error) {
    process.stderr.write(`${startFailure(error, process.env)}\n`);
    process.exit(1);
  }
}

/** Runs one service over NATS, as its `main.ts` does. */
export function runService(definition: ServiceDefinition): Promise<void> {
  return runMain((env) => runProcess([definition], natsTransportFromEnv(env), env));
}
