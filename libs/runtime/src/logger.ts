import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger, type Level } from 'pino';

/** Start-up messages of the framework, logged at level debug only. */
const FRAMEWORK = new Set([
  'NestFactory',
  'InstanceLoader',
  'RoutesResolver',
  'RouterExplorer',
  'NestMicroservice',
  'NestApplication',
]);

/** The minimum level that is logged, and the levels of single components (the contexts of log lines). */
export interface LogLevels {
  default: Level;
  components: Record<string, Level>;
}

let output: DestinationStream | undefined;

/**
 * The output of the process, shared by all loggers. Lines are written together, because a write costs more than
 * formatting a line: within a tenth of a second, with a fatal line, and when the process exits in any way except
 * SIGKILL.
 */
function standardOutput(): DestinationStream {
  if (output) return output;
  const stdout = pino.destination({ dest: 1, sync: true, minLength: 8_192, periodicFlush: 100 });
  process.on('exit', () => stdout.flushSync());
  return (output = stdout);
}

/**
 * Nest's logger over pino: one JSON line for each entry, with the service's name. An object is logged as its fields.
 */
export class PinoLogger implements LoggerService {
  private readonly logger: Logger;

  constructor(
    service: string,
    private readonly levels: LogLevels,
  ) {
    this.logger = pino({ level: 'debug', base: { service } }, standardOutput());
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write('info', message, rest);
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest passes the context as the last argument and, for errors, a stack before it. */
  private write(level: Level, message: unknown, rest: unknown[]): void {
    const context = rest.length > 0 ? String(rest.at(-1)) : undefined;
    const stack = rest.length > 1 ? rest.slice(0, -1).map(String).join('\n') : undefined;
    const shown = context && FRAMEWORK.has(context) && level === 'info' ? 'debug' : level;
    if (!this.isLogged(shown, context)) return;
    if (typeof message === 'object' && message !== null && !(message instanceof Error))
      return this.logger[shown]({ context, ...message });
    const text = message instanceof Error ? (message.stack ?? message.message) : String(message);
    this.logger[shown]({ context, stack }, text);
  }

  private isLogged(level: Level, context: string | undefined): boolean {
    const least = (context !== undefined && this.levels.components[context]) || this.levels.default;
    return pino.levels.values[level]! >= pino.levels.values[least]!;
  }
}
