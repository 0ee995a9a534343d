import 'reflect-metadata';
import { runService } from '@market/runtime';
import { gateway } from './service.js';

void runService(gateway);
