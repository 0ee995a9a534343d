import 'reflect-metadata';
import { runService } from '@market/runtime';
import { reputation } from './service.js';

void runService(reputation);
