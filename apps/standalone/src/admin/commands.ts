import { runCommand, type CommandInput, type Environment } from '@market/runtime';
import { statefulServices } from '../stateful-services.js';
import type { AdminCommand } from './admin-command.js';
import { backupCommands } from './backup.js';
import { doctor } from './doctor.js';
import { httpCommands } from './http-commands.js';
import { migrateCommand } from './migrate.js';

/**
 * All commands of operators: those that ask the running marketplace, those that the services declare, and those of
 * whole machines.
 */
export const adminCommands: readonly AdminCommand[] = [
  ...httpCommands,
  ...statefulServices.flatMap((service) =>
    (service.commands ?? []).map((command) => ({
      ...command,
      run: (input: CommandInput, env: Environment) =>
        runCommand(
          service,
          command,
          input,
          env,
          statefulServices.filter(({ name }) => command.asks?.includes(name)),
        ),
    })),
  ),
  ...backupCommands,
  migrateCommand,
  doctor,
];
