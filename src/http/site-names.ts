/** The fields by which an answer can act on other hosts of its site. */
export const siteNames = [
  'set-cookie',
  'clear-site-data',
  'strict-transport-security',
  'nel',
  'report-to',
  'public-key-pins',
  'public-key-pins-report-only',
] as const
