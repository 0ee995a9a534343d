import { sandboxOutcome } from '@market/contracts/payments-ledger';
import { OneOf } from '../http/fields.js';

export class PaySandboxBody {
  @OneOf(sandboxOutcome.options, { optional: true, default: 'paid', description: 'What the pretended payment comes to.' })
  outcome?: (typeof sandboxOutcome.options)[number];
}
