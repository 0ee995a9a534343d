import { Module } from '@nestjs/common';
import { InputSchemas } from './input-schemas.js';
import { Offerings } from './offerings.js';

@Module({ providers: [Offerings, InputSchemas], exports: [Offerings, InputSchemas] })
export class OfferingsModule {}
