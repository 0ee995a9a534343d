import { SERVICE_NAMES } from '@market/contracts';
import { CommandFailure, diagnose } from '@market/runtime';
import type { AdminCommand } from './admin-command.js';

/** `market-admin doctor` lists what is wrong with the environment of all services, or of one. */
export const doctor: AdminCommand = {
  name: 'doctor',
  help:
    'checks variables, databases, clocks, NATS, Redis, RPC servers, facilitator and Relay, prints what is wrong ' +
    'and which variable to change, and ends with 1 if anything is; changes nothing',
  options: { service: { help: 'one service, where the environment is that of its process alone' } },
  async run({ options: { service } }, env) {
    // Only this command imports the edge, because every other command starts faster without it.
    const { services } = await import('../services.js');
    const definitions = service === undefined ? services : services.filter(({ name }) => name === service);
    if (definitions.length === 0) throw new CommandFailure(`--service must be one of ${SERVICE_NAMES.join(', ')}`);
    const findings = await diagnose(definitions, env);
    const text = findings
      .flatMap(({ subject, problems, warning }) =>
        problems.length === 0
          ? [warning === undefined ? `well\t${subject}` : `risky\t${subject}\t${warning}`]
          : problems.map((problem) => `wrong\t${subject}\t${problem}`),
      )
      .join('\n');
    if (findings.some(({ problems }) => problems.length > 0)) throw new CommandFailure(text);
    return text;
  },
};
