import { join } from 'node:path'
import { chromium, type Browser } from 'playwright-core'

/** The browser of the tests, which is not disturbed by network interfaces that other tests add and remove. */
const CHROMIUM = join(import.meta.dirname, 'chromium.pl')

export const launchChromium = (...args: readonly string[]): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', ...args] })
