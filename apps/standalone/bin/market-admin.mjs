#!/usr/bin/env node
import '../dist/market-admin.js';
