import { Module } from '@nestjs/common';
import { PayableSellers } from './payable-sellers.js';
import { ProvidersEventController } from './providers.event-controller.js';
import { Providers } from './providers.js';

@Module({
  controllers: [ProvidersEventController],
  providers: [PayableSellers, Providers],
  exports: [PayableSellers, Providers],
})
export class ProvidersModule {}
