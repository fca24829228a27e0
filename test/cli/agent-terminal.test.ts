import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { decodeQR } from 'qr/decode.js'
import type { Tunnel } from '#agent/tunnel.ts'
import { qrCode } from '#cli/agent/qr-code.ts'
import { screenLines, type Scene } from '#cli/agent/screen.ts'
import { TrafficStats } from '#cli/agent/traffic-stats.ts'
import { agentOnTerminal, visit, webService } from './agent-support.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { until } from '../support/until.ts'
import { newFolder } from '../support/folder.ts'

let server: TestServer
before(async () => (server = await startServer()))
after(() => server[Symbol.asyncDispose]())

const CTRL_C = '\u0003'
const HIDDEN = '\u001b[?25l'
const SHOWN = '\u001b[?25h'

const service = () =>
  webService((request, response) => response.writeHead(request.url === '/none' ? 404 : 200).end('hello'))

/** The text of a screen without its line breaks and spaces, wherever it was wrapped. */
const unwrapped = (output: string): string => stripVTControlCharacters(output).replaceAll(/\s/g, '')

suite('the view on a terminal', () => {
  test('shows the address, then requests, and ends with Ctrl-C', async () => {
    await using web = await service()
    await using agent = agentOnTerminal(server, ['http', web.port, '--name', 'term'])
    const [, url = ''] = await agent.waitForOutput(/(http:\/\/term\.adit\.localhost:\d+)\D/)
    await agent.waitForOutput(/online.* for \d+ s/)
    await agent.waitForOutput(/Gateway .*127\.0\.0\.1:\d+ \(version \d\S+, region us\)/)
    await visit(`${url}/page`)
    await visit(`${url}/none`)
    await agent.waitForOutput(/\d\d:\d\d:\d\d .*\[32m200.* ms {2}GET {4}\/page/)
    await agent.waitForOutput(/\[33m404.* ms {2}GET {4}\/none/)
    await agent.waitForOutput(/Connections .*2 in all, 0\.03\/s/)
    await agent.waitForOutput(/Durations .*p50 \S+ m?s, p90 \S+ m?s/)
    agent.child.stdin?.write(CTRL_C)
    assert.equal(await agent.ends(), 130)
    assert.ok(agent.output.includes(HIDDEN))
    assert.ok(agent.output.lastIndexOf(SHOWN) > agent.output.lastIndexOf(HIDDEN))
    assert.ok(!agent.output.includes('\u001b[?1049h'), 'the alternate screen')
    // The picture is drawn over itself.
    assert.match(agent.output, /\[\d+A/)
  })

  test('has no colours when NO_COLOR is set', async () => {
    await using agent = agentOnTerminal(server, ['http', '1'], { environment: { NO_COLOR: '1' } })
    await agent.waitForOutput(/State +online for/)
    // oxlint-disable-next-line no-control-regex -- escape sequences are what is looked for
    assert.doesNotMatch(agent.output, /\u001b\[\d*m/)
  })

  test('is cut to the width, also when that changes', async () => {
    await using agent = agentOnTerminal(server, ['http', '1', '--name', 'narrow'], { columns: 40 })
    const [terminal] = await agent.waitForOutput(/\/dev\/pts\/\d+(?=\s)/)
    await agent.waitForOutput(/online[^\n]*\n/)
    // The last line may have come in part, with half of a control sequence.
    const lines = stripVTControlCharacters(agent.output).split(/\r?\n/).slice(1, -1)
    assert.ok(lines.every(line => line.length < 40))
    execFileSync('stty', ['-F', terminal, 'cols', '120'])
    await agent.waitForOutput(/\[2J[^]*narrow\.adit\.localhost:\d+.* -> http:\/\/localhost:1/)
  })

  test('shows why it is not online and when it retries', async () => {
    const environment = { ADIT_SERVER_ADDR: '127.0.0.1:1', ADIT_AUTHTOKEN: 'x' }
    await using agent = agentOnTerminal(server, ['http', '1'], { environment })
    await agent.waitForOutput(/reconnecting in \d+ s.*: The gateway 127\.0\.0\.1:1 cannot be reached/)
    agent.child.stdin?.write(CTRL_C)
    assert.equal(await agent.ends(), 130)
  })

  test('obeys keys: help, copy, open, inspector, QR code, quit', async () => {
    const folder = newFolder()
    const opened = join(folder, 'opened')
    writeFileSync(
      join(folder, 'xdg-open'),
      `#!/bin/sh\necho "$1" > '${opened}.new'; mv '${opened}.new' '${opened}'\n`,
      {
        mode: 0o755,
      },
    )
    const environment = { PATH: `${folder}:${process.env['PATH'] ?? ''}` }
    await using agent = agentOnTerminal(server, ['http', '1', '--name', 'keyed'], { environment })
    const [, url = ''] = await agent.waitForOutput(/(https:\/\/keyed\.adit\.localhost:\d+)\D/)
    await agent.waitForOutput(/q quits, \? for help/)
    agent.child.stdin?.write('?')
    await agent.waitForOutput(/c {2}copy the address to the clipboard/)
    agent.child.stdin?.write('c')
    await agent.waitForOutput(new RegExp(`\\u001b\\]52;c;${Buffer.from(url).toString('base64')}\\u0007`))
    const openedBy = async (key: string): Promise<string> => {
      rmSync(opened, { force: true })
      agent.child.stdin?.write(key)
      await until(() => existsSync(opened))
      return readFileSync(opened, 'utf8')
    }
    assert.equal(await openedBy('o'), `${url}\n`)
    assert.match(await openedBy('i'), /^http:\/\/127\.0\.0\.1:\d+\n$/)
    agent.child.stdin?.write('r')
    await agent.waitForOutput(/r hides the QR code/)
    agent.child.stdin?.write('r')
    await agent.waitForOutput(/r hides the QR code[^]*State/)
    agent.child.stdin?.write('q')
    assert.equal(await agent.ends(), 0)
    rmSync(folder, { recursive: true })
  })

  test('shows the whole address and the whole reason at any width', async () => {
    await using agent = agentOnTerminal(server, ['http', '1', '--name', 'a-name-that-is-rather-long'], {
      columns: 30,
    })
    // A terminal delivers a picture in pieces, so that each text is waited for as a whole.
    await agent.waitForOutput(
      /https:\/\/a-name-that-is-rather-long\.adit\.localhost:\d+->http:\/\/localhost:1/,
      unwrapped,
    )
    const environment = { ADIT_SERVER_ADDR: '127.0.0.1:1', ADIT_AUTHTOKEN: 'x' }
    await using away = agentOnTerminal(server, ['http', '1'], { columns: 30, environment })
    await away.waitForOutput(
      /cannotbereached:nothinglistensthere\(ECONNREFUSED\)\..*bydefaultport4443\./,
      unwrapped,
    )
  })

  test('gives way to lines', async () => {
    await using agent = agentOnTerminal(server, ['http', '1', '--log', 'text'])
    await agent.waitForOutput(/^url=https/m)
    assert.ok(!agent.output.includes(HIDDEN))
  })
})

/** Reads a QR code of half blocks as a scanner would, from a picture with four pixels for each module. */
function scanned(lines: readonly string[], blocksAreDark: boolean): string {
  const SCALE = 4
  const rows = lines.flatMap(line =>
    ['█▀', '█▄'].map(blocks => Array.from(line, each => blocks.includes(each))),
  )
  const width = (rows[0]?.length ?? 0) * SCALE
  const height = rows.length * SCALE
  const data = new Uint8Array(width * height * 4).fill(255)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      if (rows[Math.floor(y / SCALE)]?.[Math.floor(x / SCALE)] === blocksAreDark)
        data.fill(0, (y * width + x) * 4, (y * width + x) * 4 + 3)
  return decodeQR({ width, height, data })
}

suite('the picture', () => {
  const scene = (traffic: TrafficStats): Scene => ({
    now: 90_061_000,
    status: { state: 'online', region: 'us', serverVersion: '1.2.3' },
    since: 0,
    latencyMs: 12.34,
    server: 'gateway.example:4443',
    inspector: 'http://127.0.0.1:4040',
    tunnels: [],
    traffic,
    help: [],
    notes: [{ level: 'error', message: 'two\nlines \u001b[2J' }],
    qr: undefined,
  })
  const tunnel = {} as Tunnel
  const traffic = (): TrafficStats => {
    const made = new TrafficStats(() => 0)
    const path = `/${'long'.repeat(50)}`
    for (let at = 0; at < 12; at++)
      made.request({
        tunnel,
        method: 'GET',
        path: at === 11 ? '/\u001b[2Jlast\u202e' : path,
        status: 500,
        durationMs: 1234,
      })
    return made
  }

  test('has the ten newest requests and no control characters of others', () => {
    const lines = screenLines(scene(traffic()), { columns: 80, rows: 50 }, false)
    assert.equal(lines.filter(line => line.includes('GET')).length, 10)
    assert.ok(lines.some(line => line.endsWith('/\\u001b[2Jlast\\u202e')))
    assert.ok(lines.includes('Note         two lines \\u001b[2J'))
    assert.ok(lines.includes('State        online for 1 d 1 h'))
    assert.ok(lines.includes('Latency      12 ms'))
    assert.ok(lines.includes('Inspector    http://127.0.0.1:4040'))
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    assert.ok(lines.every(line => line.length < 80 && !/[\u0000-\u001f]/.test(line)))
  })

  for (const isColoured of [true, false])
    test(`has a QR code that scanners read, ${isColoured ? 'with' : 'without'} colours`, async () => {
      const url = 'https://a-name-of-some-length.tunnels.example.com:8443'
      const qr = await qrCode(url, isColoured)
      const lines = screenLines({ ...scene(traffic()), qr }, { columns: 80, rows: 24 }, isColoured)
      const code = lines.map(line => stripVTControlCharacters(line)).filter(line => /[▀▄█]/.test(line))
      assert.equal(scanned(code, isColoured), url)
      assert.equal(lines.at(-1)?.includes(url), true)
    })

  test('reports that the terminal is too small for a QR code', async () => {
    const qr = await qrCode('https://x.example', false)
    const lines = screenLines({ ...scene(traffic()), qr }, { columns: 60, rows: 12 }, false)
    assert.match(lines.join('\n'), /too small for the QR code[^]*https:\/\/x\.example/)
  })

  test('breaks lines between words on a narrow terminal', () => {
    const forwarding = {
      url: 'https://shop.tunnels.example.com',
      forwardsTo: 'http://localhost:3000',
    } as Tunnel
    const shown = (columns: number): string[] =>
      screenLines({ ...scene(traffic()), tunnels: [forwarding] }, { columns, rows: 50 }, false)
    const narrow = shown(60)
    assert.ok(narrow.includes('Forwarding   https://shop.tunnels.example.com ->'))
    assert.ok(narrow.includes('             http://localhost:3000'))
    const narrowest = shown(30).map(line => line.trim())
    assert.ok(narrowest.join('|').includes('|https://shop.tunnels.example.|com -> http://localhost:3000|'))
  })

  test('is no higher than the terminal', () => {
    assert.equal(screenLines(scene(traffic()), { columns: 80, rows: 6 }, true).length, 5)
  })

  test('fits into a terminal of one column', () => {
    const forwarding = { url: 'https://shop.tunnels.example.com', forwardsTo: 'http://localhost:1' } as Tunnel
    const shown = { ...scene(traffic()), tunnels: [forwarding] }
    for (const columns of [1, 2, 3]) assert.equal(screenLines(shown, { columns, rows: 6 }, true).length, 5)
  })
})

suite('the numbers of connections', () => {
  test('count the last minute, and drop what is older', () => {
    let now = 0
    const traffic = new TrafficStats(() => now)
    const event = { tunnel: {} as Tunnel, clientAddr: '', bytesIn: 0, bytesOut: 0 }
    const connection = (durationMs: number) => {
      traffic.connection({ ...event, kind: 'opened', durationMs: 0 })
      traffic.connection({ ...event, kind: 'closed', durationMs })
    }
    for (let at = 1; at <= 60; at++) {
      connection(60_000)
      traffic.request({ tunnel: {} as Tunnel, method: 'GET', path: '/', status: 200, durationMs: at })
    }
    traffic.connection({ ...event, kind: 'opened', durationMs: 0 })
    assert.deepEqual([traffic.open, traffic.total, Math.round(traffic.rate * 60)], [1, 61, 61])
    assert.deepEqual([traffic.percentile(0.5), traffic.percentile(0.9)], [31, 55])
    now = 30_000
    connection(1)
    assert.equal(Math.round(traffic.rate * 60), 62)
    now = 60_000
    assert.equal(Math.round(traffic.rate * 60), 1)
    now = 3_600_000
    assert.equal(traffic.rate, 0)
  })
})
