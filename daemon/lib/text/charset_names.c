/*
 * charset_names - what mail calls a charset, and what iconv does.
 *
 * Only what stands here is ever given to iconv: a sender chooses the label,
 * and iconv has converters that nobody mails with and that were not written
 * for hostile input.  Labels are compared by their letters and digits, so
 * ISO_8859-1, iso8859-1 and "ISO 8859-1" are one.  As browsers and mail
 * readers do, each is read as the superset that people really send: ISO
 * 8859-1 as windows-1252, GB 2312 as GB 18030, KS C 5601 as UHC.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "text_priv.h"

struct alias {
	const char *label, *name;
	bool ascii; /* bytes below 0x80 are always ASCII */
};

/* In the order of strcmp(). */
static const struct alias aliases[] = {
	{ "big5", "BIG5-HKSCS", false },
	{ "big5hkscs", "BIG5-HKSCS", false },
	{ "cnbig5", "BIG5-HKSCS", false },
	{ "cp1250", "WINDOWS-1250", true },
	{ "cp1251", "WINDOWS-1251", true },
	{ "cp1252", "WINDOWS-1252", true },
	{ "cp1253", "WINDOWS-1253", true },
	{ "cp1254", "WINDOWS-1254", true },
	{ "cp1255", "WINDOWS-1255", true },
	{ "cp1256", "WINDOWS-1256", true },
	{ "cp1257", "WINDOWS-1257", true },
	{ "cp1258", "WINDOWS-1258", true },
	{ "cp437", "IBM437", true },
	{ "cp850", "IBM850", true },
	{ "cp852", "IBM852", true },
	{ "cp866", "CP866", true },
	{ "cp874", "CP874", true },
	{ "cp932", "CP932", false },
	{ "cp936", "GB18030", false },
	{ "cp949", "UHC", false },
	{ "cp950", "BIG5-HKSCS", false },
	{ "eucjp", "EUC-JP", true },
	{ "euckr", "UHC", false },
	{ "euctw", "EUC-TW", true },
	{ "gb18030", "GB18030", false },
	{ "gb2312", "GB18030", false },
	{ "gb231280", "GB18030", false },
	{ "gbk", "GB18030", false },
	{ "ibm437", "IBM437", true },
	{ "ibm850", "IBM850", true },
	{ "ibm852", "IBM852", true },
	{ "ibm866", "CP866", true },
	{ "iso2022jp", "ISO-2022-JP", false },
	{ "iso2022jp1", "ISO-2022-JP-1", false },
	{ "iso2022jp2", "ISO-2022-JP-2", false },
	{ "iso2022kr", "ISO-2022-KR", false },
	{ "iso88591", "WINDOWS-1252", true },
	{ "iso885910", "ISO-8859-10", true },
	{ "iso885911", "CP874", true },
	{ "iso885913", "ISO-8859-13", true },
	{ "iso885914", "ISO-8859-14", true },
	{ "iso885915", "ISO-8859-15", true },
	{ "iso885916", "ISO-8859-16", true },
	{ "iso88592", "ISO-8859-2", true },
	{ "iso88593", "ISO-8859-3", true },
	{ "iso88594", "ISO-8859-4", true },
	{ "iso88595", "ISO-8859-5", true },
	{ "iso88596", "ISO-8859-6", true },
	{ "iso88597", "ISO-8859-7", true },
	{ "iso88598", "ISO-8859-8", true },
	{ "iso88598i", "ISO-8859-8", true },
	{ "iso88599", "WINDOWS-1254", true },
	{ "koi8r", "KOI8-R", true },
	{ "koi8u", "KOI8-U", true },
	{ "ksc5601", "UHC", false },
	{ "ksc56011987", "UHC", false },
	{ "latin1", "WINDOWS-1252", true },
	{ "latin2", "ISO-8859-2", true },
	{ "latin5", "WINDOWS-1254", true },
	{ "latin9", "ISO-8859-15", true },
	{ "macintosh", "MACINTOSH", true },
	{ "mskanji", "CP932", false },
	{ "shiftjis", "CP932", false },
	{ "sjis", "CP932", false },
	{ "tis620", "CP874", true },
	{ "uhc", "UHC", false },
	{ "unicode11utf7", "UTF-7", false },
	{ "utf16", "UTF-16", false },
	{ "utf16be", "UTF-16BE", false },
	{ "utf16le", "UTF-16LE", false },
	{ "utf7", "UTF-7", false },
	{ "windows1250", "WINDOWS-1250", true },
	{ "windows1251", "WINDOWS-1251", true },
	{ "windows1252", "WINDOWS-1252", true },
	{ "windows1253", "WINDOWS-1253", true },
	{ "windows1254", "WINDOWS-1254", true },
	{ "windows1255", "WINDOWS-1255", true },
	{ "windows1256", "WINDOWS-1256", true },
	{ "windows1257", "WINDOWS-1257", true },
	{ "windows1258", "WINDOWS-1258", true },
	{ "windows31j", "CP932", false },
	{ "windows874", "CP874", true },
	{ "windows949", "UHC", false },
	{ "xeucjp", "EUC-JP", true },
	{ "xgbk", "GB18030", false },
	{ "xmacroman", "MACINTOSH", true },
	{ "xsjis", "CP932", false },
};

static int
compare(const void *label, const void *alias)
{
	return strcmp(label, ((const struct alias *)alias)->label);
}

const char *
tide_charset_find(const char *label, size_t length, bool *ascii)
{
	char plain[24];
	const struct alias *a;
	size_t i, n = 0;

	for (i = 0; i < length && n + 1 < sizeof plain; i++)
		if (isalnum((unsigned char)label[i]))
			plain[n++] = (char)tolower((unsigned char)label[i]);
	plain[n] = '\0';
	a = bsearch(plain, aliases, sizeof aliases / sizeof *aliases,
	    sizeof *aliases, compare);
	*ascii = a == NULL || a->ascii;
	return a != NULL ? a->name : NULL;
}
