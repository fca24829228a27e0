import { main } from '#bin/main.ts'
import { mapStackTraces } from '#bin/source-maps.ts'

mapStackTraces()
await main()
