import base from './jest.base.mjs';

export default { ...base, testMatch: ['<rootDir>/{apps,libs}/*/src/**/*.spec.ts'], maxWorkers: '100%' };
