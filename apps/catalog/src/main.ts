import 'reflect-metadata';
import { runService } from '@market/runtime';
import { catalog } from './service.js';

void runService(catalog);
