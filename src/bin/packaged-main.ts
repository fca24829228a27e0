import { main } from '#bin/main.ts'

await main()
