import { Module } from '@nestjs/common';
import { Offerings } from './offerings.js';

@Module({ providers: [Offerings], exports: [Offerings] })
export class OfferingsModule {}
