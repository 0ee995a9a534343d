import { runService } from '@market/runtime';
import { identity } from './service.js';

void runService(identity);
