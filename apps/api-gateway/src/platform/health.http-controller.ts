import { platformConfig, type ConfigOf } from '@market/runtime';
import { Controller, Get, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Public } from '../http/access.js';
import { success } from '../http/envelope.js';
import { LATER } from '../openapi/example-values.js';
import { envelopeSchema, objectSchema } from '../openapi/json-schema.js';
import { Operation } from '../openapi/operation.decorator.js';
import { INTERFACE_VERSION } from './interface-version.js';

const schema = envelopeSchema(
  objectSchema({
    status: { type: 'string', const: 'ok' },
    version: { type: 'string' },
    timestamp: { type: 'string', format: 'date-time' },
    mode: objectSchema({ payments: { type: 'string', enum: ['sandbox', 'live'] } }),
  }),
);

@ApiTags('Platform')
@Controller('health')
export class HealthHttpController {
  constructor(@Inject(platformConfig.token) private readonly platform: ConfigOf<typeof platformConfig>) {}

  @Get()
  @Public({ rate: 'health' })
  @Operation({
    summary: 'Is the marketplace there, in which version and mode',
    description: 'Asks no other service: it tells that requests arrive.',
    answer: {
      schema,
      example: success({ status: 'ok', version: INTERFACE_VERSION, timestamp: LATER, mode: { payments: 'sandbox' } }),
    },
  })
  getHealth() {
    return success({
      status: 'ok',
      version: INTERFACE_VERSION,
      timestamp: new Date().toISOString(),
      mode: { payments: this.platform.paymentsMode },
    });
  }
}
