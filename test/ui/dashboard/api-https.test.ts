import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { connect } from 'node:tls'
import { caOf } from '../../agent/support.ts'
import { startServer, type TestServer } from '../../support/server.ts'
import { launchChromium } from '../../support/chromium.ts'
import { tokenIn } from '../../support/dashboard.ts'
import { createResource } from '../../support/each-store.ts'
import { until } from '../../support/until.ts'

const WORKERS = 2

/**
 * Trusts the certificates that the workers present, each its own, by the hash of their keys; all others are rejected as
 * usual. They are verified here with the CA of the server.
 */
async function trusting(server: TestServer): Promise<string> {
  const ca = readFileSync(caOf(server))
  const hashes = new Set<string>()
  await until(async () => {
    const port = server.bound.https?.port ?? 0
    const socket = connect({ host: '127.0.0.1', port, ca, servername: 'dashboard.adit.localhost' })
    await once(socket, 'secureConnect')
    const key = socket.getPeerX509Certificate()?.publicKey.export({ type: 'spki', format: 'der' })
    hashes.add(
      createHash('sha256')
        .update(key ?? '')
        .digest('base64'),
    )
    socket.destroy()
    return hashes.size === WORKERS
  })
  return `--ignore-certificate-errors-spki-list=${[...hashes].join(',')}`
}

suite('the dashboard on the HTTPS listener, in a browser', () => {
  test('signs in under its own name, and shows changes at once, with two workers', async () => {
    await using server = await startServer({ api_https: 'on', workers: String(WORKERS) })
    const url = `https://dashboard.adit.localhost:${server.bound.https?.port ?? 0}`
    const { body } = await server.api.post('/dashboard/link')
    const token = tokenIn(String(body.url))
    await using browser = await launchChromium(await trusting(server))
    const context = await browser.newContext()
    const page = await context.newPage()
    page.setDefaultTimeout(120_000)
    const errors: string[] = []
    page.on('pageerror', error => void errors.push(String(error)))
    await page.goto(`${url}/dashboard/login#token=${token}`)
    await page.getByText('Live', { exact: true }).first().waitFor({ state: 'attached' })
    const [cookie] = await context.cookies()
    assert.deepEqual(
      [cookie?.name, cookie?.secure, cookie?.httpOnly, cookie?.sameSite],
      ['__Host-adit_session', true, true, 'Strict'],
    )
    await page.goto(`${url}/dashboard/ip_policies`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await createResource(server.api, '/ip_policies', {
      description: 'appears at once',
    })
    await page.getByText('appears at once').first().waitFor()
    assert.deepEqual(errors, [])
  })
})
