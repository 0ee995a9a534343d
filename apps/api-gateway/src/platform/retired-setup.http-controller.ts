import { All, Controller } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../http/access.js';
import { setupRetired } from '../http/edge-refusals.js';

/** Setup of stored funds, as older clients know it: gone with any method, and described to nobody new. */
@ApiExcludeController()
@Controller()
export class RetiredSetupHttpController {
  @All(['payments/setup', 'payments/setup-intents', 'payments/fund', 'payment-methods', 'wallet/deposit', 'wallet/balance'])
  @Public({ body: 'ignored' })
  refuseSetup(): never {
    throw setupRetired();
  }
}
