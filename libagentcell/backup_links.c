/* SPDX-License-Identifier: ISC */
/* A map from file to file, for telling which names are one file on both sides. */
#include "backup_compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t slot_of(const struct ac_link_map *map, const struct ac_file_id *key)
{
	uint64_t hash = (key->inode ^ key->device << 32) * 0x9e3779b97f4a7c15u;

	return (hash ^ hash >> 29) & map->mask;
}

static struct ac_link *find(const struct ac_link_map *map, const struct ac_file_id *key)
{
	uint64_t slot = slot_of(map, key);

	while (map->slots[slot].is_used && memcmp(&map->slots[slot].key, key, sizeof *key) != 0)
		slot = (slot + 1) & map->mask;
	return &map->slots[slot];
}

static int grow(struct ac_link_map *map)
{
	struct ac_link_map more = { .mask = map->slots ? map->mask * 2 + 1 : 63 };

	if (map->slots && map->count * 2 < map->mask)
		return 0;
	more.slots = calloc(more.mask + 1, sizeof more.slots[0]);
	if (!more.slots)
		return -ENOMEM;
	for (uint64_t i = 0; map->slots && i <= map->mask; i++)
		if (map->slots[i].is_used)
			*find(&more, &map->slots[i].key) = map->slots[i];
	more.count = map->count;
	free(map->slots);
	*map = more;
	return 0;
}

int ac_link_map_enter(struct ac_link_map *map, const struct ac_file_id *key,
	const struct ac_file_id *value, struct ac_file_id *found)
{
	if (grow(map))
		return -ENOMEM;
	struct ac_link *link = find(map, key);

	if (!link->is_used) {
		*link = (struct ac_link){ .key = *key, .value = *value, .is_used = true };
		map->count++;
	}
	*found = link->value;
	return 0;
}

void ac_link_map_fini(struct ac_link_map *map)
{
	free(map->slots);
	memset(map, 0, sizeof *map);
}
