import { after, before, beforeEach } from 'node:test'
import { FakeAuthority } from './fake-authority.ts'
import { FakeDns } from './fake-dns.ts'
import { World } from './world.ts'

/**
 * A fake authority and DNS for a suite, which gets the authority when it runs; each test finds it as new. Returns what
 * opens a world that uses both.
 */
export function useFakes(made: (authority: FakeAuthority) => void) {
  let authority: FakeAuthority
  let dns: FakeDns
  before(async () => {
    authority = await FakeAuthority.start()
    dns = await FakeDns.start('127.0.0.99')
    made(authority)
  })
  beforeEach(() => authority.reset())
  after(async () => {
    dns[Symbol.dispose]()
    await authority[Symbol.asyncDispose]()
  })
  return (more?: Record<string, string>, folder?: string): Promise<World> =>
    World.open({ directory: authority.directory, rootFile: authority.rootFile, dns: dns.at }, more, folder)
}
