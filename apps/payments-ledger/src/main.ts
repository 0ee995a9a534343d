import 'reflect-metadata';
import { runService } from '@market/runtime';
import { paymentsLedger } from './service.js';

void runService(paymentsLedger);
