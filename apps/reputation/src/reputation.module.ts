import { Module } from '@nestjs/common';
import { CallFacts } from './facts/call-facts.js';

@Module({ providers: [CallFacts] })
export class ReputationModule {}
