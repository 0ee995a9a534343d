/** The wallet of the human who operates the marketplaces of tests. */
export const OPERATOR = {
  key: '0x0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e',
  address: '0x81A1F7ca1A40e004d8E3cDcdb7263aadD9cE1af3',
} as const;
