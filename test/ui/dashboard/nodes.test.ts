import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { SOON, TestCluster, untilStates, visit } from '../../cluster/cluster.ts'
import { idOf } from '../../cluster/load.ts'
import { until } from '../../support/until.ts'
import { Dashboard, closePages, launch } from './support.ts'

let cluster: TestCluster
let browser: Browser
before(async () => {
  cluster = await TestCluster.start(2)
  browser = await launch()
})
after(async () => {
  await closePages(browser)
  await cluster[Symbol.asyncDispose]()
})

suite('the nodes of a cluster', () => {
  test('are drained from the page: one finishes its requests, and leaves the list', async () => {
    const [serving, drained] = [cluster.at(0), cluster.at(1)]
    await untilStates(serving, ['live', 'live'])
    const held = Promise.withResolvers<ServerResponse>()
    const service = createServer((request, response) => {
      if (request.url === '/held') held.resolve(response)
      else response.end('here')
    }).listen(0, '127.0.0.1')
    await once(service, 'listening')
    const agent = await cluster.connect([serving])
    const tunnel = await agent.listen({ forwardTo: (service.address() as AddressInfo).port, proto: 'http' })
    const name = new URL(tunnel.url).hostname
    await until(async () => (await visit(drained, name)).status === 200, { withinMs: SOON })
    const inProgress = visit(drained, name, { path: '/held' })
    const response = await held.promise

    await using dashboard = await Dashboard.open(browser, serving.process.api)
    const { page } = dashboard
    const id = await idOf(drained, serving)
    await dashboard.visit('/nodes', 'Nodes')
    const rows = page.getByRole('region', { name: 'Nodes' }).locator('tbody').getByRole('row')
    await rows.filter({ hasText: 'live' }).nth(1).waitFor()
    // The page shows the state until this test has looked, however long that takes.
    const looked = Promise.withResolvers<void>()
    let isDraining = false
    await page.route(
      url => url.pathname === `/nodes/${id}`,
      async route => {
        if (isDraining) await looked.promise
        const answer = await route.fetch()
        isDraining ||= (await answer.text()).includes('"draining"')
        await route.fulfill({ response: answer })
      },
    )
    await dashboard.visit(`/nodes/${id}`)
    const fields = page.getByRole('region', { name: 'Fields' })
    await fields.getByText('live', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Drain' }).click()
    const requested = page.getByText('Drain: requested').waitFor()
    await page.getByRole('dialog', { name: 'Drain' }).getByRole('button', { name: 'Drain' }).click()
    await requested
    await fields.getByText('draining', { exact: true }).waitFor()
    const exited = once(drained.process.child, 'exit')
    response.end('finished')
    const { status, body } = await inProgress
    assert.deepEqual([status, body], [200, 'finished'])
    assert.deepEqual(await dashboard.findings(), [])
    assert.deepEqual(dashboard.errors, [])

    assert.deepEqual((await exited)[0], 0)
    cluster.nodes.splice(cluster.nodes.indexOf(drained), 1)
    looked.resolve()
    await page.getByText('It does not exist any more.').waitFor()
    await dashboard.visit('/nodes', 'Nodes')
    await rows.filter({ hasText: 'draining' }).waitFor({ state: 'detached' })
    await rows.filter({ hasText: 'live' }).waitFor()
    assert.equal(await rows.count(), 1)
    assert.equal((await visit(serving, name)).status, 200)
    await agent.close()
    service.close()
  })
})
