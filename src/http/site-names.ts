/** Response fields that can affect other hosts of the site. */
export const siteNames = [
  'set-cookie',
  'clear-site-data',
  'strict-transport-security',
  'nel',
  'report-to',
  'public-key-pins',
  'public-key-pins-report-only',
] as const
