"""Words that pages use for their parts and values."""

from __future__ import annotations

import re
from collections.abc import Iterable

CHINESE_LABELS = {
    "价格": "price", "售价": "price", "单价": "unit_price", "总价": "total_price", "标题": "title",
    "题目": "title", "名称": "name", "姓名": "name", "作者": "author", "发布者": "author",
    "楼主": "author", "日期": "date", "时间": "date", "发布时间": "published", "更新时间": "updated",
    "来源": "source", "地址": "address", "电话": "phone", "手机": "mobile", "邮箱": "email",
    "面积": "area", "户型": "layout", "楼层": "floor", "品牌": "brand", "型号": "model",
    "规格": "specification", "销量": "sales", "库存": "stock", "评分": "rating", "评论": "comments",
    "评论数": "comments", "回复": "replies", "查看": "views", "浏览": "views", "阅读": "views",
    "分类": "category", "类别": "category", "类型": "type", "标签": "tags", "简介": "summary",
    "摘要": "summary", "描述": "description", "内容": "content", "公司": "company", "职位": "position",
    "薪资": "salary", "地区": "region", "城市": "city", "学历": "education", "经验": "experience",
    "数量": "quantity", "编号": "number", "状态": "status", "链接": "url", "图片": "image",
    "备注": "note", "排名": "rank", "店铺": "shop", "出版社": "publisher", "导演": "director",
    "主演": "cast", "年份": "year",
}  # fmt: skip
"""Chinese labels and their field names."""

SYNONYMS = {
    "headline": "title", "heading": "title", "hd": "title", "subject": "title", "poster": "author",
    "byline": "author", "username": "author", "img": "image", "photo": "image", "thumb": "image",
    "thumbnail": "image", "pic": "image", "picture": "image", "cover": "image", "desc": "description",
    "excerpt": "summary", "snippet": "summary", "abstract": "summary", "amount": "price", "cost": "price",
    "datetime": "date", "pubdate": "published", "startdate": "start_date", "enddate": "end_date",
    "href": "url", "tel": "phone", "telephone": "phone", "mail": "email", "posts": "replies",
    "cap": "caption", "nr": "number", "num": "number", "qty": "quantity", "addr": "address",
    "loc": "location", "st": "summary", "fn": "name", "commit": "comments",
}  # fmt: skip
"""Synonyms and the field name used for them."""

GENERIC_WORDS = frozenset(
    (
        "a and area b big block body bottom box btn button by card cards cell col cols comment common "
        "component contact container content css data div docutils e elem element em entry even event f "
        "field figure first footer for g go grid group has head header hide holder i ico icon icons in info "
        "inner is item items job js k label large last lazy lazyload left link links list literal loaded "
        "main media meta more new news no notranslate odd of on open outer p part post pre pricing product "
        "r read responsive result results right row rows s sc section show sig small span svg text the tile "
        "to top topic txt u v val value view what when with wrap wrapper x xi xs"
    ).split()
)
"""Words in class names that do not describe a value."""

STATUS_WORDS = frozenset(
    (
        "author availability available brand category city condition country court date delivery department "
        "headline instock language location maker manufacturer name poster price publisher published region "
        "seller shop status stock subject time title type user vendor"
    ).split()
)
"""Words in class names of values that can be the same in all items of a page."""

NAVIGATION_WORDS = frozenset(
    (
        "breadcrumb breadcrumbs calendar carousel consent cookie cookies copyright crumb crumbs facet "
        "facets filter filters foot footer lang langs language languages login menu nav navbar navigation "
        "newsletter offcanvas drawer masthead pager pages pagination paging pg share sharing shortcut "
        "sitemap social submenu tagcloud toolbar topbar"
    ).split()
)
"""Parts of a page without lists of their own: menus, filters, pagers."""


_NAV = re.compile(r"(?:left|right|side|sub|top|main|bottom|foot|global|page|site)?nav(?!y)")


def is_navigation(words: Iterable[str]) -> bool:
    """Return True if words of class names call something navigation."""
    return any(word in NAVIGATION_WORDS or "menu" in word or _NAV.match(word) for word in words)


SIDEBAR_WORDS = frozenset(
    (
        "ad ads advert advertisement also aside crosssell friendlink hot links popular promo promoted rank "
        "ranking recent recommend recommendation recommendations recommended related side sidebar similar "
        "similars sponsored tads trending upsell widget"
    ).split()
)
"""Parts of a page whose lists are about other pages."""

SITE_KEYS = frozenset(
    (
        "breadcrumb breadcrumbs config countries currencies experiments facet facets features filter "
        "filters flags footer header i18n languages links locale locales menu messages meta modules nav "
        "navigation options routes scripts seo settings styles tracking translations"
    ).split()
)
"""Keys in the JSON of a page that describe the site."""

SITE_TYPES = frozenset(
    (
        "BreadcrumbList CollectionPage Corporation ImageObject ListItem LocalBusiness NewsMediaOrganization "
        "Organization Person SearchAction SearchResultsPage SiteNavigationElement WPFooter WPHeader WebPage "
        "WebSite"
    ).split()
)
"""JSON-LD types that describe the site, not the page."""

THING_TYPES = frozenset(
    (
        "Apartment Article BlogPosting Book Course Dataset Event Game Hotel House JobPosting Movie "
        "MusicAlbum MusicEvent MusicRecording NewsArticle Person Place PodcastEpisode QAPage Question "
        "RealEstateListing Recipe Report Restaurant Review SoftwareApplication TVSeries TechArticle "
        "VideoGame VideoObject"
    ).split()
)
"""JSON-LD types that a page can be about."""
