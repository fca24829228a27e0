import { join } from 'node:path'

/** The browser of the tests, which is not disturbed by network interfaces that other tests add and remove. */
export const CHROMIUM = join(import.meta.dirname, 'chromium.pl')
