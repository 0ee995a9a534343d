import 'reflect-metadata';
import { runService } from '@market/runtime';
import { apiGateway } from './service.js';

void runService(apiGateway);
