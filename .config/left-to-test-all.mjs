/** Adversarial, long, or in a browser: by the beginnings of their names, the files that `npm test` leaves to `npm run test:all`. */
export const LEFT_TO_TEST_ALL = {
  int: ['broker-faults', 'budget-model', 'chaos', 'crash', 'dev', 'fuzz', 'payment-model', 'subscription-model'],
  e2e: [
    'access-matrix',
    'admin-commands',
    'backup',
    'commits',
    'console',
    'faults',
    'fuzz',
    'mass-assignment',
    'money',
    'overload',
    'rolling',
    'secrets',
    'shutdown',
  ],
};

/** jest's `testPathIgnorePatterns` for one kind of tests. */
export const ignoredPathsOf = (kind) => [
  '/node_modules/',
  ...(process.env.LEAVE_TO_TEST_ALL ? [`/(${LEFT_TO_TEST_ALL[kind].join('|')})[^/]*\\.${kind}-spec\\.ts$`] : []),
];
