import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { launchd } from '#cli/agent/service/launchd.ts'
import { systemd } from '#cli/agent/service/systemd.ts'
import { windowsTask } from '#cli/agent/service/windows.ts'
import { runAdit } from '../support/server.ts'
import { webService } from './agent-support.ts'
import { newFolder } from '../support/folder.ts'

/** A home with a file of the agent, and a systemctl that writes down how it is called. */
function machine(tunnels = 'tunnels:\n  web: {proto: http, addr: 3000}\n') {
  const home = newFolder()
  const calls = join(home, 'calls')
  mkdirSync(join(home, 'bin'))
  writeFileSync(join(home, 'bin', 'systemctl'), `#!/bin/sh\necho "$*" >> '${calls}'\n`, { mode: 0o755 })
  mkdirSync(join(home, 'adit'))
  writeFileSync(join(home, 'adit', 'adit.yml'), tunnels, { mode: 0o600 })
  const environment = {
    HOME: home,
    XDG_CONFIG_HOME: home,
    PATH: `${join(home, 'bin')}:${process.env['PATH'] ?? ''}`,
  }
  return {
    environment,
    unit: join(home, '.config', 'systemd', 'user', 'adit-agent.service'),
    config: join(home, 'adit', 'adit.yml'),
    calls: () => readFileSync(calls, 'utf8').trim().split('\n'),
    [Symbol.dispose]: () => rmSync(home, { recursive: true }),
  }
}

suite('adit service', () => {
  test('installs, controls and removes a unit of systemd', async () => {
    using here = machine()
    const service = (...args: string[]) => runAdit(['service', ...args, '--user'], here.environment)
    const installed = await service('install')
    assert.deepEqual(
      [installed.code, installed.stdout],
      [0, `The service was installed as ${here.unit}. Start it with "adit service start --user".\n`],
    )
    const unit = readFileSync(here.unit, 'utf8')
    assert.match(
      unit,
      new RegExp(`^ExecStart=.* "start" "--all" "--log" "stdout" "--config" "${here.config}"$`, 'm'),
    )
    // It complains of what it cannot run and of what it does not know.
    execFileSync('systemd-analyze', ['verify', here.unit], { stdio: 'pipe' })
    for (const action of ['start', 'restart', 'status', 'stop']) assert.equal((await service(action)).code, 0)
    assert.equal((await service('uninstall')).code, 0)
    assert.equal(existsSync(here.unit), false)
    assert.deepEqual(here.calls(), [
      '--user daemon-reload',
      '--user enable adit-agent',
      '--user start adit-agent',
      '--user restart adit-agent',
      '--user status --no-pager adit-agent',
      '--user stop adit-agent',
      '--user disable --now adit-agent',
      '--user daemon-reload',
    ])
    const gone = await service('start')
    assert.equal(gone.code, 3)
    assert.match(gone.stderr, /there is no service: .* Create it with "adit service install"/)
  })

  test('explains that the service manager of the user does not run', async () => {
    using here = machine()
    writeFileSync(join(here.environment.HOME, 'bin', 'systemctl'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })
    const { code, stderr } = await runAdit(['service', 'install', '--user'], here.environment)
    assert.equal(code, 1)
    assert.match(stderr, /^adit: "systemctl --user daemon-reload" failed with exit code 1\n/)
    assert.match(
      stderr,
      /\n +A service of a user needs a login session .*, or run this as root without --user\.\n$/,
    )
  })

  test('is not installed for a file without tunnels', async () => {
    using here = machine('version: 1\n')
    const { code, stderr } = await runAdit(['service', 'install', '--user'], here.environment)
    assert.equal(code, 78)
    assert.match(
      stderr,
      /has no tunnels, so a service would have nothing to do\. Add one with "adit config edit"/,
    )
  })

  test('reports what it needs where there is no service manager', async () => {
    using here = machine()
    const empty = join(here.environment.HOME, 'empty')
    mkdirSync(empty)
    // The launcher itself needs these.
    const PATH = join(empty)
    for (const name of ['dirname', 'readlink', 'sh', 'env'])
      execFileSync('ln', [
        '-s',
        execFileSync('which', [name], { encoding: 'utf8' }).trim(),
        join(empty, name),
      ])
    const { code, stderr } = await runAdit(['service', 'install', '--user'], { ...here.environment, PATH })
    assert.equal(code, 69)
    assert.match(stderr, /systemctl cannot be run: ENOENT\. This command needs the service manager/)
  })

  test('quotes what the service managers would change', () => {
    const spec = { command: ['/a b/adit', '100%$x"<&'], home: '/h', isUser: true }
    assert.match(systemd(spec).file?.text ?? '', /^ExecStart="\/a b\/adit" "100%%\$\$x\\"<&"$/m)
    assert.match(launchd(spec, 501).file?.text ?? '', /<string>100%\$x"&lt;&amp;<\/string>/)
    assert.deepEqual(launchd(spec, 501).run.start, [
      ['launchctl', 'bootstrap', 'gui/501', '/h/Library/LaunchAgents/adit-agent.plist'],
    ])
    assert.equal(windowsTask(spec).install[0]?.at(-1), '"/a b/adit" "100%$x\\"<&"')
  })
})

suite('commands about the program', () => {
  test('print the version and the licence', async () => {
    assert.match((await runAdit(['version'])).stdout, /^adit version \d+\.\d+\.\d+\n$/)
    assert.match((await runAdit(['-v'])).stdout, /^\d+\.\d+\.\d+\n$/)
    assert.match((await runAdit(['credits'])).stdout, /Apache-2\.0/)
  })

  test('adit update reports and installs nothing', async () => {
    let version = '0.1.0'
    await using document = await webService((_, response) => response.end(JSON.stringify({ version })))
    using here = machine(
      `update_url: http://127.0.0.1:${document.port}/\nupdate_command: [touch, ${JSON.stringify('/nonexistent/x')}]\n`,
    )
    assert.match((await runAdit(['update'], here.environment)).stdout, /It is the newest version\.\n$/)
    version = '0.2.0'
    const { stdout, code } = await runAdit(['update', '--channel', 'beta'], here.environment)
    assert.equal(code, 0)
    assert.match(stdout, /Version 0\.2\.0 is available; install it in the way you installed this one\.\n$/)
    version = 'none'
    const failed = await runAdit(['update'], here.environment)
    assert.equal(failed.code, 69)
    assert.match(failed.stderr, /cannot be determined: .* Check update_url/)
  })
})
