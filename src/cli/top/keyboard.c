/* SPDX-License-Identifier: MIT */
/* What the keys of `top` do. */
#include "cli/top/keyboard.h"

#include <string.h>

static void rub_out(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n > 0 ? n - 1 : 0] = '\0';
}

static void type(struct board *b, int key)
{
	size_t n = strlen(b->filter);

	if (key == KEY_ENTER || key == KEY_ESCAPE)
		b->typing = false;
	if (key == KEY_ESCAPE)
		b->filter[0] = '\0';
	else if (key == KEY_ERASE)
		rub_out(b->filter);
	else if (key >= ' ' && key <= 0xff && n + 1 < sizeof(b->filter))
		b->filter[n] = (char)key, b->filter[n + 1] = '\0';
}

/* false: not such a key. */
static bool scroll(struct board *b, int key)
{
	int page = b->page > 1 ? b->page - 1 : 1;

	switch (key) {
	case KEY_UP:
		b->first--;
		return true;
	case KEY_DOWN:
		b->first++;
		return true;
	case KEY_PAGE_UP:
		b->first -= page;
		return true;
	case KEY_PAGE_DOWN:
		b->first += page;
		return true;
	case KEY_HOME:
		b->first = 0;
		return true;
	case KEY_END:
		b->first = INT32_MAX / 2;
		return true;
	default:
		return false;
	}
}

bool keyboard_take(struct board *b, int key)
{
	if (b->typing && key != KEY_GONE) {
		type(b, key);
		return true;
	}
	if (scroll(b, key))
		return true;
	switch (key) {
	case 'q':
	case KEY_GONE:
		return false;
	case 's':
		b->choice.by = (b->choice.by + 1) % COLUMNS_SORTED;
		b->first = 0;
		break;
	case 'r':
		b->choice.reverse = !b->choice.reverse;
		b->first = 0;
		break;
	case 'h':
		b->choice.held = !b->choice.held;
		break;
	case 'w':
		b->choice.waiting = !b->choice.waiting;
		break;
	case '/':
		b->typing = true;
		break;
	case KEY_ESCAPE:
		b->filter[0] = '\0';
		break;
	case '?':
		b->helping = !b->helping;
		break;
	case ' ':
		b->paused = !b->paused;
		break;
	}
	return true;
}
